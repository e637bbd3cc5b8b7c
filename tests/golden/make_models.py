"""Writes a `.keras` file of each kind of model, and models.json with their answers.

Later versions must load them. Run it from the repository root only when a new kind
is to be covered; once this package is released, old files must go on loading:

    python -m tests.golden.make_models
"""

import json
import sys
from collections.abc import Callable

import keras

import keras_bert_lite as kbl
from tests import tiny
from tests.paths import GOLDEN

ANSWERS = GOLDEN / "models.json"
PIECES = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    "▁",
    "▁the",
    "▁fine",
    "▁day",
    "▁bad",
    "▁weather",
    *"abcdefghijklmnopqrstuvwxyz",
]
# Weights far enough from zero that answers differ.
SPREAD = {"initializer_range": 0.5}
TAGS = ["O", "B-x", "I-x"]


def sentence_piece() -> kbl.Preprocessor:
    pieces = [*PIECES, *WORDS]
    scores = [0.0] * len(PIECES) + [-1.0 - i / 8 for i in range(len(WORDS))]
    tokenizer = kbl.SentencePieceTokenizer(pieces, scores, normalization=["lowercase"])
    return kbl.Preprocessor(tokenizer, 16)


def byte_pair() -> kbl.Preprocessor:
    from keras_bert_lite.text.byte_pair.byte_level import CHARACTERS

    own = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    merges = ["d a", "da y", "Ġ day"]
    pieces = [*own, *CHARACTERS.values(), "da", "day", "Ġday"]
    tokenizer = kbl.BytePairTokenizer(pieces, merges, special_tokens_in_text=True)
    return kbl.Preprocessor(tokenizer, 16, num_separators=2)


def encoder(preprocessor: kbl.Preprocessor, **changes) -> keras.Model:
    size = preprocessor.tokenizer.vocabulary_size()
    return tiny.encoder(vocabulary_size=size, **SPREAD, **changes)


def classifier() -> keras.Model:
    return kbl.with_text(
        tiny.classifier(embedding_dim=8, **SPREAD), tiny.preprocessor()
    )


def tagger() -> keras.Model:
    preprocessor = sentence_piece()
    positions = kbl.config.RelativePositions(max_distance=8, buckets=4)
    body = encoder(
        preprocessor,
        family="deberta-v2",
        num_segments=0,
        max_sequence_length=None,
        relative_positions=positions,
        pooling=None,
    )
    return kbl.with_text(kbl.token_classifier(body, TAGS, crf=True), preprocessor)


def reader() -> keras.Model:
    preprocessor = sentence_piece()
    body = encoder(preprocessor, family="albert", embedding_dim=8, num_groups=1)
    return kbl.with_text(kbl.question_answerer(body), preprocessor)


def fill_mask() -> keras.Model:
    preprocessor = byte_pair()
    body = encoder(preprocessor, family="roberta", position_offset=2, pooling=None)
    return kbl.with_text(kbl.masked_lm(body), preprocessor, top_k=2)


def intents() -> keras.Model:
    model = kbl.intent_and_slot_classifier(
        tiny.encoder(**SPREAD), ["play", "stop"], TAGS
    )
    return kbl.with_text(model, tiny.preprocessor())


PAIRS = ["fine weather the day", "bad weather, a fine day", "day", "the"]
# Name -> what makes the model, and what it is asked.
MODELS: dict[str, tuple[Callable[[], keras.Model], object]] = {
    "classifier": (classifier, tiny.TEXTS),
    "deberta_tagger_with_crf": (tagger, tiny.TEXTS),
    "albert_question_answerer": (reader, {"text": tiny.TEXTS, "text_pair": PAIRS}),
    "roberta_masked_lm": (fill_mask, ["a <mask> day", "<mask>", "no mask"]),
    "intent_and_slots": (intents, tiny.TEXTS),
}


def answers(model: keras.Model, inputs: object) -> dict:
    outputs = model.predict(inputs, verbose=0)
    return {name: value.tolist() for name, value in sorted(outputs.items())}


def main(names: list[str]) -> None:
    """Writes the models of these names; without any, all."""
    stored = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    for name in names or MODELS:
        make, inputs = MODELS[name]
        keras.utils.set_random_seed(0)
        model = make()
        model.save(GOLDEN / f"{name}.keras")
        stored[name] = answers(model, inputs)
    ANSWERS.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

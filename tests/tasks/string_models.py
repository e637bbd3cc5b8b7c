"""String-in models of every task."""

import functools

import keras_bert_lite as kbl
from tests import tiny
from tests.conformance import randomize

LABELS = ["O", "B-X", "I-X"]
LONG = "the weather is not fine and the day is bad, is it not? " * 2
TEXTS = ["the day!", LONG, "", "a", "Fine [MASK] weather [MASK]"]
PAIRS = {"text": TEXTS, "text_pair": [LONG, "fine", "bad day", "", "weather"]}
ANSWERS = [["a day", "bad"], ["", LONG], ["a day", "bad"], ["", LONG], ["", "fine"]]
CHOICES = {"text": TEXTS, "text_pair": ANSWERS}
CANDIDATES = {"text": TEXTS, "candidates": [["a day", LONG], *[["not", "fine"]] * 4]}
WORDS = [text.split() for text in TEXTS]
SPANS = ("answer", "start", "end", "score")
ENTITIES = (
    "entities",
    *(f"entity_{x}" for x in ("labels", "starts", "ends", "scores")),
)
# Task -> what `predict` takes, and the names of what it gives.
TASKS = {
    "classifier": (TEXTS, ("label", "scores")),
    "multi_label": (PAIRS, ("labels", "scores")),
    "regressor": (TEXTS, ("score",)),
    "regressor_of_two": (TEXTS, ("scores",)),
    "tokens": (TEXTS, ENTITIES),
    "crf": (TEXTS, ENTITIES),
    "words": (WORDS, (*ENTITIES, "labels", "scores")),
    "questions": (PAIRS, (*SPANS, *(f"{x}s" for x in SPANS), "no_answer_score")),
    "choices": (CHOICES, ("choice", "answer", "scores")),
    "compared": (CHOICES, ("choice", "answer", "scores")),
    "candidates": (CANDIDATES, ("scores", "order", "best")),
    "masks": (TEXTS, ("tokens", "scores", "filled")),
    "sentences": (TEXTS, ("sentence_embedding",)),
    "small_vectors": (TEXTS, ("sentence_embedding",)),
}


def make(task):
    """Returns a task's model on ids and its string-in form."""
    encoder = tiny.encoder()
    masks = kbl.Preprocessor(tiny.tokenizer(special_tokens_in_text=True), 12)
    windows = tiny.preprocessor(12, stride=3)
    builders = {
        "classifier": lambda: kbl.text_classifier(encoder, LABELS),
        "multi_label": lambda: kbl.multi_label_classifier(encoder, LABELS),
        "regressor": lambda: kbl.regressor(encoder),
        "regressor_of_two": lambda: kbl.regressor(encoder, 2),
        "tokens": lambda: kbl.token_classifier(encoder, LABELS),
        "crf": lambda: kbl.token_classifier(encoder, LABELS, crf=True),
        "words": lambda: kbl.token_classifier(encoder, LABELS),
        "questions": lambda: kbl.question_answerer(encoder),
        "choices": lambda: kbl.multiple_choice(encoder),
        "compared": lambda: kbl.multiple_choice(
            encoder, pooling="mean", head_form={}, compare=True
        ),
        "candidates": lambda: kbl.ranker(encoder),
        "masks": lambda: kbl.masked_lm(encoder),
        "sentences": lambda: kbl.sentence_encoder(encoder),
        "small_vectors": lambda: kbl.sentence_encoder(encoder),
    }
    options = {
        "multi_label": {"pairs": True, "threshold": 0.4},
        "words": {"split_words": True, "decoding": "constrained"},
        "questions": {"n_best": 3, "max_answer_length": 8},
        "masks": {"top_k": 4},
        "small_vectors": {"dimensions": 6, "precision": "int8"},
    }
    preprocessors = {"masks": masks, **dict.fromkeys(("tokens", "crf"), windows)}
    preprocessors |= dict.fromkeys(("words", "questions"), windows)
    model = builders[task]()
    randomize(model)
    preprocessor = preprocessors.get(task, tiny.preprocessor(12))
    strings = kbl.with_text(model, preprocessor, **options.get(task, {}))
    strings.run_eagerly = True  # tracing takes seconds; the exports are traced
    return model, strings


@functools.cache
def model_of(task):
    return make(task)[1]


@functools.cache
def predicted(task):
    """All rows in one batch."""
    return model_of(task).predict(TASKS[task][0], verbose=0)

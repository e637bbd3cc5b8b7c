"""Explanations of every task: complete, located, of the right output."""

import warnings

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.models.encoder_model import encoder_layers
from keras_bert_lite.models.from_vectors import from_vectors
from keras_bert_lite.tasks.text_model import model_on_ids
from tests import tiny
from tests.conformance import randomize
from tests.tasks import string_models
from tests.text import token_samples
from tests.threads import check_in_threads

pytestmark = pytest.mark.tensorflow(reason="string-in models need TensorFlow")
LONG = string_models.LONG
PAIR = {"text": "a fine day", "text_pair": LONG}
# Task -> an example, and the rest of the call.
EXAMPLES = {
    "classifier": (LONG, {}),
    "multi_label": (PAIR, {"target": "B-X"}),
    "regressor": (LONG, {}),
    "regressor_of_two": (LONG, {"target": 1}),
    "tokens": (LONG, {}),
    "crf": (LONG, {"span": (48, 53), "target": "B-X"}),
    "words": (LONG.split(), {"span": (4, 11)}),
    "questions": (PAIR, {}),
}


def complete(found):
    total = found.attributions.sum()
    assert found.error <= 0.01
    assert total == pytest.approx(found.score - found.baseline_score, rel=0.011)
    assert sum(x.sum() for x in found.characters) == pytest.approx(total)
    assert [len(x) for x in found.characters] == [len(x) for x in found.texts]
    assert not found.attributions[~found.read].any()
    for piece in found.pieces:
        text = found.texts[piece.text]
        characters = text[piece.start : piece.end]
        assert characters.encode() == text.encode()[piece.first_byte : piece.last_byte]
        assert characters.lower() == piece.token.removeprefix("##")
    return found


@pytest.fixture(scope="module")
def classifier():
    return string_models.model_of("classifier")


@pytest.mark.parametrize("task", list(EXAMPLES))
def test_every_task_with_and_without_padding(task):
    model = string_models.make(task)[1]
    text, options = EXAMPLES[task]
    found = [
        complete(kbl.explain(model, text, **options))
        for choice in (True, False)
        if kbl.set_unpadding(model, choice) is None
    ]
    np.testing.assert_allclose(found[0].attributions, found[1].attributions, atol=1e-5)
    assert found[0].read.sum() < len(found[0].pieces)  # the text is long


def test_the_target_is_the_prediction_or_the_one_asked_for(classifier):
    logits = model_on_ids(classifier)(tiny.preprocessor(12)([LONG]))["logits"][0]
    found = kbl.explain(classifier, LONG)
    assert found.target == found.prediction["label"]
    assert found.score == pytest.approx(max(logits.numpy()), abs=1e-5)
    assert found.span is None
    for label, logit in zip(string_models.LABELS, logits, strict=True):
        found = kbl.explain(classifier, LONG, label)
        assert found.target == label
        assert found.score == pytest.approx(float(logit), abs=1e-5)


def test_a_tag_of_a_word_is_scored_where_it_has_most_context():
    model = string_models.model_of("words")
    words = LONG.split()
    answer = model.predict([words], verbose=0)
    starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
    for i in (1, 7, len(words) - 1):
        span = (int(starts[i]), int(starts[i]) + len(words[i]))
        found = complete(kbl.explain(model, words, span=span))
        assert found.target == answer["labels"][0, i]
        assert found.texts[0][slice(*found.span)] == words[i]
        assert found.read[[piece.start == span[0] for piece in found.pieces]].all()
    everything = kbl.explain(string_models.model_of("tokens"), LONG)
    assert everything.span[0] == everything.prediction["entity_starts"][0]


def test_an_answer_is_its_start_and_its_end():
    model = string_models.model_of("questions")
    parts = [kbl.explain(model, PAIR, x) for x in ("start", "end", "span")]
    assert len({x.span for x in parts}) == 1
    prediction = parts[0].prediction
    assert parts[0].span == (prediction["start"], prediction["end"])
    sums = parts[0].attributions + parts[1].attributions
    np.testing.assert_allclose(sums, parts[2].attributions, atol=1e-3)
    assert parts[0].score + parts[1].score == pytest.approx(parts[2].score, abs=1e-5)
    nothing = complete(kbl.explain(model, {"text": "a day", "text_pair": ""}))
    assert nothing.span is None
    assert nothing.prediction["answer"] == ""


def test_intents_and_slots():
    model = kbl.intent_and_slot_classifier(
        tiny.encoder(), ["play", "stop"], string_models.LABELS
    )
    randomize(model)
    strings = kbl.with_text(model, tiny.preprocessor(12, stride=3))
    intent = complete(kbl.explain(strings, LONG))
    assert intent.target == intent.prediction["label"]
    slot = complete(kbl.explain(strings, LONG, "I-X", (4, 11)))
    assert (slot.target, slot.span) == ("I-X", (4, 11))


@pytest.mark.parametrize(
    ("options", "stride", "text"),
    [({"compare": True}, None, PAIR), ({"windows": "mean"}, 3, LONG)],
)
def test_rows_that_the_model_joins(options, stride, text):
    model = kbl.text_classifier(tiny.encoder(), ["bad", "fine"], **options)
    randomize(model)
    found = complete(
        kbl.explain(kbl.with_text(model, tiny.preprocessor(12, stride=stride)), text)
    )
    if stride:
        assert found.read.all()
    else:
        assert {piece.text for piece in found.pieces} == {0, 1}
        assert np.abs(found.characters[0]).max() > 0
        assert np.abs(found.characters[1]).max() > 0


def test_fixed_width_and_sizes_of_batches_change_nothing():
    model, _ = string_models.make("classifier")
    wide = kbl.with_text(model, tiny.preprocessor(12, padding="max_length"))
    narrow = kbl.with_text(model, tiny.preprocessor(12))
    expected = kbl.explain(narrow, "fine").attributions
    for text_model, size in ((narrow, 7), (narrow, 64), (wide, 16)):
        found = kbl.explain(text_model, "fine", batch_size=size).attributions
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_many_threads(classifier):
    def total(texts):
        found = [kbl.explain(classifier, x, steps=2, max_steps=2) for x in texts]
        return np.array([[x.attributions.sum(), x.score] for x in found])

    texts = ["a fine day", "bad weather"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few steps
        check_in_threads(total, texts, total(texts), calls=1, threads=4)


def test_texts_without_pieces(classifier):
    found = complete(kbl.explain(classifier, " "))
    assert found.attributions.shape == (0,)
    assert found.characters[0].tolist() == [0.0]
    assert found.to_html()


@pytest.mark.parametrize("kind", list(token_samples.MAKERS))
def test_characters_of_every_tokenizer(kind):
    """Characters of several pieces, pieces without characters, added tokens."""
    tokenizer = token_samples.MAKERS[kind]()
    size = tokenizer.vocabulary_size()
    model = kbl.regressor(kbl.encoder(tiny.config(vocabulary_size=size)))
    randomize(model)
    text = " a fine 東京😀 \n day é"
    found = kbl.explain(kbl.with_text(model, kbl.Preprocessor(tokenizer, 24)), text)
    ids, starts, ends = tokenizer.tokenize_with_offsets(text)
    assert [x.token for x in found.pieces] == [tokenizer.id_to_token(i) for i in ids]
    assert [x[2:4] for x in found.pieces] == list(zip(starts, ends, strict=True))
    for piece in found.pieces:
        part = text.encode()[piece.first_byte : piece.last_byte].decode()
        assert part == text[piece.start : piece.end]
    assert found.error <= 0.01
    assert found.characters[0].sum() == pytest.approx(found.attributions.sum())


def test_compiled_models_stay_as_they_are():
    model, strings = string_models.make("classifier")
    kbl.compile(model, steps=10)
    before, optimizer = model.get_weights(), model.optimizer
    kbl.explain(strings, LONG)
    assert model.optimizer is optimizer
    assert int(optimizer.iterations) == 0
    for x, y in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(x, y)


def test_files(tmp_path, classifier):
    expected = kbl.explain(classifier, LONG)
    classifier.save(tmp_path / "model.keras")
    for source in (tmp_path, tmp_path / "model.keras"):
        found = kbl.explain(source, LONG)
        np.testing.assert_allclose(found.attributions, expected.attributions, atol=1e-6)


def test_more_steps_until_complete():
    """Sharp activations need more points."""
    model = tiny.classifier()
    randomize(model)
    model.set_weights([2 * x for x in model.get_weights()])
    strings = kbl.with_text(model, tiny.preprocessor(12))
    with pytest.warns(UserWarning, match="`max_steps` may be larger"):
        few = kbl.explain(strings, LONG, steps=2, max_steps=3)
    assert (few.steps, few.error > 0.01) == (2, True)
    many = complete(kbl.explain(strings, LONG, steps=2, max_steps=256))
    assert many.steps > 2


@pytest.mark.parametrize(
    ("task", "text", "options", "error", "message"),
    [
        ("classifier", ["a day"], {}, TypeError, "`text` must be one string"),
        ("classifier", ("a", "b"), {}, ValueError, "`text` must be one text"),
        ("multi_label", "a", {}, ValueError, "must be a pair"),
        ("words", "a day", {}, TypeError, "must be a list of words"),
        ("classifier", "a", {"target": "X"}, ValueError, "must be one of .*B-X"),
        ("classifier", "a", {"span": (0, 1)}, ValueError, "`span` must be None"),
        ("classifier", "a", {"steps": 0}, ValueError, "`steps`"),
        ("regressor_of_two", "a", {}, ValueError, "must be one of \\[0, 1\\]"),
        ("tokens", "", {}, ValueError, "the model finds no entity"),
        ("tokens", "a day", {"span": (1, 2)}, ValueError, "characters of a word"),
        ("tokens", "a day", {"span": (3, 9)}, ValueError, "text of 5"),
        ("tokens", "a day", {"span": "a"}, ValueError, "`span` must be two numbers"),
        ("questions", PAIR, {"target": "x"}, ValueError, "'start', 'end', 'span'"),
        ("questions", PAIR, {"span": (0, 90)}, ValueError, "one window"),
        ("sentences", "a", {}, ValueError, "one of the tasks .*text_classification"),
    ],
)
def test_refusals(task, text, options, error, message):
    with pytest.raises(error, match=message):
        kbl.explain(string_models.model_of(task), text, **options)


def test_models_on_ids_are_refused():
    with pytest.raises(TypeError, match="made by `with_text`"):
        kbl.explain(tiny.classifier(), "a day")


def test_vectors_in_place_of_the_look_up():
    model = tiny.classifier()
    randomize(model)
    ids = tiny.preprocessor()(["a fine day", "bad"])
    look_up = encoder_layers(kbl.encoder_of(model))[0].token_vectors
    again = from_vectors(model)
    vectors = look_up(ids["token_ids"])
    expected = model(ids)["logits"]
    found = again([ids, vectors])["logits"]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert not np.allclose(again([ids, 2 * vectors])["logits"], expected)
    with pytest.raises(ValueError, match="contain its encoder as a model"):
        from_vectors(kbl.masked_lm(tiny.encoder()))

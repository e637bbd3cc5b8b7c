"""EntityAnswer against seqeval, brute force and the CRF's own decoder."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from seqeval.metrics.sequence_labeling import get_entities

from keras_bert_lite.layers.heads.crf import CRF, CRFDecoder
from keras_bert_lite.tagging import allowed_transitions
from keras_bert_lite.tasks.token_classification import EntityAnswer
from keras_bert_lite.text.window_layer import TextWindows
from tests import tiny
from tests.conformance import randomize

BIO = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
BIOES = ["O", *(f"{p}-{t}" for t in ("LOC", "PER") for p in "BIES")]
TEXTS = [
    "a fine day! the weather, 東京 🙂 e\u0301te\u0301 is not finer a b c d e f g h i",
    "",
    "weather",
    "the day is the day, is it not? the day the weather is fine not bad",
]
WORDS = [
    ["the", "", "finer", "\x01", "a-b", "🙂", *"abcdefghij", "day"],
    ["weather"],
    [],
    ["", "\x01", ""],
    ["is", "it", "not", "fine"],
]


def places_of(texts, length=10, stride=3):
    layer = TextWindows(tiny.preprocessor(length, stride=stride))
    if isinstance(texts[0], list):
        texts = tf.ragged.constant(texts).to_tensor("")
    return layer({"text": tf.constant(texts)})


def random_logits(places, size, seed=0):
    shape = (*places["token_ids"].shape, size)
    return np.random.default_rng(seed).normal(scale=2, size=shape).astype("float32")


def answer(places, labels, words=None, scores="logits", values=None, **options):
    values = random_logits(places, len(labels)) if values is None else values
    inputs = {**places, scores: values}
    if words is not None:
        inputs["given"] = tf.ragged.constant(words).to_tensor("")
        options["split_words"] = True
    outputs = EntityAnswer(labels, **options)(inputs)
    return {k: np.array(x) for k, x in outputs.items()}


def words_of(row, places):
    """Returns `(start, end, window, column, word)` of the words of a text."""
    x = {name: np.array(value) for name, value in places.items()}
    tokens = range(x["row_splits"][row], x["row_splits"][row + 1])
    groups = []
    for token in tokens:
        if x["firsts"][token]:
            groups.append([token])
        else:
            groups[-1].append(token)
    for group in groups:
        (here,) = np.flatnonzero((x["tokens"] == group[0]) & x["most_context"])
        place = x["windows"][here], x["columns"][here]
        start, end = x["starts"][group[0]], x["ends"][group[-1]]
        yield start, end, *place, x["words"][group[0]]


def softmax(x):
    shares = np.exp(x - x.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def entities_of(found, row):
    names = ("entity_labels", "entity_starts", "entity_ends")
    rows = zip(*(found[name][row].tolist() for name in names), strict=True)
    return [(label.decode(), start, end) for label, start, end in rows if label]


@pytest.mark.parametrize("labels", [BIO, BIOES], ids=["BIO", "BIOES"])
@pytest.mark.parametrize("stride", [0, 3])
def test_equal_seqeval_on_the_words_labels(labels, stride):
    places = places_of(TEXTS, stride=stride)
    logits = random_logits(places, len(labels))
    found = answer(places, labels, values=logits)
    for row, text in enumerate(TEXTS):
        words = list(words_of(row, places))
        tags = [labels[logits[w, c].argmax()] for _, _, w, c, _ in words]
        chunks = get_entities(tags)
        assert entities_of(found, row) == [
            (kind, words[first][0], words[last][1]) for kind, first, last in chunks
        ]
        count = len(chunks)
        for i, (_, start, end) in enumerate(entities_of(found, row)):
            assert found["entities"][row, i].decode() == text[start:end]
        best = [softmax(logits[w, c]).max() for _, _, w, c, _ in words]
        expected = [np.mean(best[first : last + 1]) for _, first, last in chunks]
        np.testing.assert_allclose(
            found["entity_scores"][row, :count], expected, atol=1e-5
        )
        assert not found["entities"][row, count:].any()
        assert (found["entity_starts"][row, count:] == -1).all()
        assert (found["entity_ends"][row, count:] == -1).all()


@pytest.mark.parametrize("labels", [BIO, BIOES], ids=["BIO", "BIOES"])
def test_constrained_labels_are_the_best_that_are_allowed(labels):
    words = [["a", "b", "c", "d"], ["the", "day"], ["x"]]
    places = places_of(words, length=5, stride=1)
    logits = random_logits(places, len(labels), seed=1)
    found = answer(places, labels, words, values=logits, decoding="constrained")
    pairs, starts, ends = allowed_transitions(labels)
    for row, given in enumerate(words):
        scores = [logits[w, c] for _, _, w, c, _ in words_of(row, places)]
        valid = [
            path
            for path in itertools.product(range(len(labels)), repeat=len(given))
            if starts[path[0]]
            and ends[path[-1]]
            and all(pairs[x] for x in itertools.pairwise(path))
        ]
        best = max(valid, key=lambda path: sum(map(np.take, scores, path)))
        got = [x.decode() for x in found["labels"][row][: len(given)]]
        assert got == [labels[i] for i in best]


def test_constrained_labels_are_valid_over_windows():
    places = places_of(WORDS)
    found = answer(places, BIOES, WORDS, decoding="constrained")
    for row, words in enumerate(WORDS):
        seen = sorted(word for *_, word in words_of(row, places))
        assert len(seen) == sum(word not in ("", "\x01") for word in words)
        tags = [found["labels"][row, i].decode() for i in seen]
        for before, after in itertools.pairwise(["O", *tags, "O"]):
            assert (before[0] in "BI") == (after[0] in "IE")
            assert before[0] not in "BI" or before[1:] == after[1:]


@pytest.mark.parametrize("decoding", ["lenient", "constrained"])
def test_fields_are_decoded_as_the_decoder_does(decoding):
    texts = ["a b c d e", "the day is fine"]
    places = places_of(texts, length=16)
    crf = CRF(BIO, constrained=decoding == "constrained")
    logits = random_logits(places, len(BIO))
    crf.build(logits.shape)
    randomize(crf)
    values = crf(logits)
    found = answer(places, BIO, scores="crf_scores", values=values, decoding=decoding)
    mask = np.zeros(logits.shape[:2], bool)
    for row in range(2):
        for _, _, window, column, _ in words_of(row, places):
            mask[window, column] = True
    tags = np.array(CRFDecoder()(values, mask))
    for row in range(2):
        words = list(words_of(row, places))
        chunks = get_entities([BIO[i] for i in tags[row][mask[row]]])
        assert entities_of(found, row) == [
            (kind, words[first][0], words[last][1]) for kind, first, last in chunks
        ]


def test_labels_without_scheme_make_every_word_an_entity():
    labels = ["NOUN", "VERB", "O"]
    places = places_of(TEXTS)
    logits = random_logits(places, 3)
    found = answer(places, labels, values=logits)
    for row in range(len(TEXTS)):
        words = [
            (labels[logits[w, c].argmax()], start, end)
            for start, end, w, c, _ in words_of(row, places)
        ]
        assert entities_of(found, row) == [x for x in words if x[0] != "O"]


def test_each_given_word_has_its_label():
    places = places_of(WORDS)
    logits = random_logits(places, len(BIO))
    found = answer(places, BIO, WORDS, values=logits)
    assert len(places["window_rows"]) > len(WORDS)
    assert found["labels"].shape == (5, 17)
    for row, words in enumerate(WORDS):
        labels = ["O" if word else "" for word in words] + [""] * (17 - len(words))
        scores = np.zeros(17)
        for _, _, window, column, word in words_of(row, places):
            labels[word] = BIO[logits[window, column].argmax()]
            scores[word] = softmax(logits[window, column]).max()
        assert [x.decode() for x in found["labels"][row]] == labels
        np.testing.assert_allclose(found["scores"][row], scores, atol=1e-5)
        text = " ".join(words)
        for i, (_, start, end) in enumerate(entities_of(found, row)):
            assert found["entities"][row, i].decode() == text[start:end]


def test_no_rows():
    places = TextWindows(tiny.preprocessor(10))({"text": tf.constant([], tf.string)})
    for value in answer(places, BIO).values():
        assert value.shape == (0, 0)


@pytest.mark.tensorflow(reason="symbolic calls")
@pytest.mark.parametrize("words", [False, True])
def test_symbols_have_the_types_of_values(words):
    text = keras.Input((None,) if words else (), dtype="string", name="text")
    places = TextWindows(tiny.preprocessor(10))({"text": text})
    given = {"given": text} if words else {}
    logits = keras.KerasTensor((None, None, 5))
    specs = EntityAnswer(BIO, split_words=words)({**places, **given, "logits": logits})
    values = (
        answer(places_of(WORDS), BIO, WORDS) if words else answer(places_of(TEXTS), BIO)
    )
    assert set(specs) == set(values)
    for name, spec in specs.items():
        kind = "string" if values[name].dtype == object else values[name].dtype.name
        assert spec.dtype == kind
        assert spec.shape == (None, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decoding": "strict"}, "`decoding` must be one of"),
        ({"labels": ["B-PER", "NOUN"]}, "`labels` must be 'O' or one of the prefixes"),
        ({"labels": ["O"]}, "`labels` must be at least two names"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        EntityAnswer(**{"labels": BIO, **options})


def test_config():
    config = EntityAnswer(BIO, "constrained", True).get_config()
    assert (config["labels"], config["decoding"]) == (BIO, "constrained")
    assert EntityAnswer.from_config(config).get_config() == config


def test_a_piece_that_is_only_a_space_does_not_lengthen_a_word():
    places = {
        "text": tf.constant(["ab  cd"]),
        "window_rows": tf.constant([0], tf.int64),
        "windows": tf.constant([0, 0, 0], tf.int64),
        "columns": tf.constant([0, 1, 2], tf.int64),
        "tokens": tf.constant([0, 1, 2], tf.int64),
        "most_context": tf.constant([True] * 3),
        "row_splits": tf.constant([0, 3], tf.int64),
        "starts": tf.constant([0, 3, 4]),
        "ends": tf.constant([2, 3, 6]),  # the second token has no width
        "firsts": tf.constant([True, False, True]),
        "words": tf.constant([0, 0, 0], tf.int64),
    }
    values = 9.0 * np.eye(len(BIO), dtype="float32")[None, [1, 0, 0]]
    found = answer(places, BIO, values=values)
    assert entities_of(found, 0) == [("LOC", 0, 2)]
    assert found["entities"][0, 0] == b"ab"

"""SpanAnswer against all spans, written out in Python."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.tasks.question_answering import NO_CONTEXT, SpanAnswer
from keras_bert_lite.text.window_layer import TextWindows
from tests import tiny

QUESTIONS = ["what is it", "", "the day", "not the weather, is it", ""]
CONTEXTS = [
    "a b c d e f g h i j k l m n o p q r s t u v w x y z. the weather, the day!",
    "fine",
    "",
    "Ärger e\u0301te\u0301 🙂 東京 a\u200db finer bad weather is the day, fine? not!",
    "",
]
COUNT = 3  # spans looked at for each answer: some may have the same text


def places_of(questions, contexts, length=14, stride=4):
    layer = TextWindows(tiny.preprocessor(length, stride=stride))
    return layer({"text": tf.constant(questions), "text_pair": tf.constant(contexts)})


def random_logits(places, seed=0):
    generator = np.random.default_rng(seed)
    shape = places["token_ids"].shape
    return {
        name: generator.normal(scale=3, size=shape).astype("float32")
        for name in ("start_logits", "end_logits")
    }


def answer(places, logits, **options):
    outputs = SpanAnswer(**options)({**places, **logits})
    return {k: np.array(x) for k, x in outputs.items()}


def spans_of(row, places, logits, longest):
    """Returns `(score, start, end)` of all spans of a context, the best first."""
    x = {name: np.array(value) for name, value in places.items()}
    spans = []
    for window in np.flatnonzero(x["window_rows"] == row):
        here = np.flatnonzero(x["windows"] == window)
        for i, first in enumerate(here):
            for last in here[i : i + longest] if x["most_context"][first] else []:
                score = logits["start_logits"][window, x["columns"][first]]
                score = score + logits["end_logits"][window, x["columns"][last]]
                start = x["starts"][x["tokens"][first]]
                spans.append((score, start, x["ends"][x["tokens"][last]]))
    return sorted(spans, reverse=True)


def different(spans, text, count):
    best = {}
    for score, start, end in spans[: COUNT * count]:
        best.setdefault(text[start:end], (score, start, end))
    return [(text, *span) for text, span in best.items()][:count]


def null_score(row, places, logits):
    windows = np.array(places["window_rows"]) == row
    return (logits["start_logits"] + logits["end_logits"])[windows, 0].min()


@pytest.mark.parametrize(("longest", "count"), [(30, 5), (3, 2), (1, 8), (100, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_the_n_best_of_all_spans(longest, count, seed):
    places = places_of(QUESTIONS, CONTEXTS)
    logits = random_logits(places, seed)
    found = answer(places, logits, max_answer_length=longest, n_best=count)
    for row, context in enumerate(CONTEXTS):
        spans = spans_of(row, places, logits, longest)
        best = different(spans, context, count)
        missing = count - len(best)
        texts = [x[0].encode() for x in best] + [b""] * missing
        assert found["answers"][row].tolist() == texts
        assert found["starts"][row].tolist() == [x[2] for x in best] + [-1] * missing
        assert found["ends"][row].tolist() == [x[3] for x in best] + [-1] * missing
        scores = np.exp([x[1] for x in best])
        expected = [*(scores / scores.sum()), *[0] * missing]
        np.testing.assert_allclose(found["scores"][row], expected, atol=1e-5)
        null = null_score(row, places, logits) - spans[0][0] if spans else NO_CONTEXT
        assert found["no_answer_score"][row] == pytest.approx(null, abs=1e-4)


def test_the_answer_is_the_best():
    places = places_of(QUESTIONS, CONTEXTS)
    found = answer(places, random_logits(places))
    for name in ("answer", "start", "end", "score"):
        assert found[name].tolist() == found[f"{name}s"][:, 0].tolist()
    assert found["start"].tolist()[2] == found["start"].tolist()[4] == -1


@pytest.mark.parametrize("threshold", [-5.0, 0, 4.5])
def test_no_answer_where_it_scores_higher_by_the_threshold(threshold):
    places = places_of(QUESTIONS * 8, CONTEXTS * 8)
    logits = random_logits(places)
    always = answer(places, logits)
    found = answer(places, logits, no_answer_threshold=threshold)
    silent = always["no_answer_score"] > threshold
    assert 0 < silent[[0, 1, 3]].sum() + silent[5:].sum() < len(silent)
    assert np.array_equal(found["answer"] == b"", silent | (always["answer"] == b""))
    assert np.array_equal(found["start"] == -1, silent | (always["start"] == -1))
    assert np.array_equal(found["answers"], always["answers"])
    for row in np.flatnonzero(found["starts"][:, 0] >= 0):
        null = null_score(row, places, logits)
        best = different(spans_of(row, places, logits, 30), (CONTEXTS * 8)[row], 5)
        shares = np.exp([*(x[1] for x in best), null])
        shares /= shares.sum()
        expected = shares[-1 if silent[row] else 0]
        assert found["score"][row] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("stride", [0, 1, 4, 13])
def test_every_token_and_each_pair_of_neighbours_can_be_an_answer(stride):
    """One row of the batch for each token: its logits point there."""
    text = CONTEXTS[3]
    starts, ends = (
        x[0].numpy() for x in tiny.tokenizer().tokenize_with_offsets([text])[1:]
    )
    count = len(starts)
    places = places_of(["the day"] * count, [text] * count, stride=stride)
    x = {name: np.array(value) for name, value in places.items()}
    logits = {k: np.zeros(x["token_ids"].shape) for k in ("start_logits", "end_logits")}
    row = x["window_rows"][x["windows"]]
    here = x["tokens"] - x["row_splits"][row] == row
    for values in logits.values():
        values[x["windows"][here], x["columns"][here]] = 9
    found = answer(places, logits)
    assert found["start"].tolist() == starts.tolist()
    assert found["end"].tolist() == ends.tolist()
    assert [x.decode() for x in found["answer"]] == [
        text[start:end] for start, end in zip(starts, ends, strict=True)
    ]


def test_long_contexts():
    words = [chr(97 + i % 26) for i in range(10_000)]
    for place in (0, 5_000, 9_998):
        words[place : place + 2] = ["weather", "finer"]
    places = places_of(["the day"] * 3, [" ".join(words)] * 3, length=64, stride=20)
    x = {name: np.array(value) for name, value in places.items()}
    row = x["window_rows"][x["windows"]]
    pieces = x["token_ids"][x["windows"], x["columns"]]
    # Of three such places each row's logits point to another.
    vocabulary = tiny.tokenizer().get_vocabulary()
    number = (x["tokens"] - x["row_splits"][row]) // 4_000
    logits = {k: np.zeros(x["token_ids"].shape) for k in ("start_logits", "end_logits")}
    for name, piece in (("start_logits", "weather"), ("end_logits", "##r")):
        here = (pieces == vocabulary.index(piece)) & (number == row)
        logits[name][x["windows"][here], x["columns"][here]] = 9
    found = answer(places, logits)
    assert found["answer"].tolist() == [b"weather finer"] * 3
    assert found["start"].tolist() == [0, 10_010, 20_016]


def test_places_count_code_points_of_valid_text():
    contexts = [b"\xff\xfea day\xff", "🙂🙂 e\u0301 fine".encode()]
    places = places_of(["", ""], contexts)
    found = answer(places, random_logits(places), n_best=20)
    for text, answers, starts, ends in zip(
        ["a day", "🙂🙂 e\u0301 fine"],
        found["answers"],
        found["starts"],
        found["ends"],
        strict=True,
    ):
        spans = [(x, s, e) for x, s, e in zip(answers, starts, ends, strict=True) if x]
        assert len(spans) >= 3
        assert all(text[s:e] == x.decode() for x, s, e in spans)


def test_no_rows():
    places = places_of(tf.constant([], tf.string), tf.constant([], tf.string))
    found = answer(places, random_logits(places), n_best=2)
    for name, value in found.items():
        assert value.shape == ((0, 2) if name.endswith("s") else (0,))


@pytest.mark.parametrize("threshold", [None, 0.0])
def test_contexts_without_tokens(threshold):
    places = places_of(["", "a", "\x01"], ["", " ", "\u200b"])
    found = answer(places, random_logits(places), no_answer_threshold=threshold)
    assert found["answer"].tolist() == [b""] * 3
    assert found["start"].tolist() == found["end"].tolist() == [-1] * 3
    assert found["no_answer_score"].tolist() == [NO_CONTEXT] * 3
    assert found["score"].tolist() == [0.0 if threshold is None else 1.0] * 3
    assert not found["scores"].any()


def test_equal_texts_count_once():
    places = places_of(["a"], ["day a day a day"], length=16)
    logits = {k: np.zeros(places["token_ids"].shape) for k in random_logits(places)}
    found = answer(places, logits, max_answer_length=2, n_best=4)["answers"][0]
    assert sorted(found.tolist()) == [b"", b"a", b"a day", b"day"] or (
        sorted(found.tolist()) == [b"a", b"a day", b"day", b"day a"]
    )


@pytest.mark.tensorflow(reason="symbolic calls")
def test_symbols_have_the_shapes_of_values():
    layer = TextWindows(tiny.preprocessor(14, stride=3))
    symbols = layer(
        {k: keras.Input((), dtype="string", name=k) for k in ("text", "text_pair")}
    )
    ids = symbols["token_ids"]
    logits = dict.fromkeys(random_logits(places_of(["a"], ["b"])), ids)
    specs = SpanAnswer(n_best=2)({**symbols, **logits})
    places = places_of(["a"], ["b"])
    values = SpanAnswer(n_best=2)({**places, **random_logits(places)})
    assert set(specs) == set(values)
    for name, spec in specs.items():
        assert spec.dtype == values[name].dtype.name
        assert spec.shape == (None, *values[name].shape[1:])


@pytest.mark.parametrize("name", ["max_answer_length", "n_best"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "2"])
def test_refuses_numbers(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be a positive integer"):
        SpanAnswer(**{name: value})


@pytest.mark.parametrize("value", [float("nan"), True, "0"])
def test_refuses_thresholds(value):
    with pytest.raises(ValueError, match="`no_answer_threshold` must be a number"):
        SpanAnswer(no_answer_threshold=value)


def test_config():
    options = {"max_answer_length": 3, "n_best": 2, "no_answer_threshold": 0.5}
    config = SpanAnswer(**options).get_config()
    assert options.items() <= config.items()
    assert SpanAnswer.from_config(config).get_config() == config


def test_no_answer_must_score_higher_than_the_threshold_not_equal():
    places = places_of(QUESTIONS[:1], CONTEXTS[:1])
    logits = random_logits(places)
    difference = float(answer(places, logits)["no_answer_score"][0])
    equal = answer(places, logits, no_answer_threshold=difference)
    assert equal["answer"][0]
    below = float(np.nextafter(np.float32(difference), np.float32(-np.inf)))
    assert not answer(places, logits, no_answer_threshold=below)["answer"][0]

"""Calls over the wire to a SavedModel in another process."""

import time
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.serving.client import Client
from tests import tiny
from tests.serving import prediction_server

pytestmark = [
    pytest.mark.serving,
    pytest.mark.tensorflow(reason="exports need TensorFlow"),
]
HARD = ["日本語 😀", "a\0b", "\0", b"\xff\xfe a", "x" * 1_000_000, " \t", ""]


def make_model(seed=0, **options):
    keras.utils.set_random_seed(seed)
    classifier = tiny.classifier(initializer_range=0.3)
    return kbl.with_text(classifier, tiny.preprocessor(), **options)


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.fixture(scope="module")
def server(model, tmp_path_factory):
    directory = tmp_path_factory.mktemp("served") / "mood"
    kbl.export_saved_model(model, directory)
    with prediction_server.running(directory) as (process, target):
        yield target
        assert process.poll() is None


def check(model, answer, texts):
    expected = model.predict(texts, batch_size=len(texts), verbose=0)
    assert answer["label"].tolist() == expected["label"].tolist()
    np.testing.assert_allclose(answer["scores"], expected["scores"], atol=1e-5)


def test_texts(model, server):
    with Client(server, "mood") as client:
        check(model, client.predict(tiny.TEXTS), tiny.TEXTS)
        check(model, client.predict({"text": tiny.TEXTS}), tiny.TEXTS)
        check(model, client.predict(HARD), HARD)
        scores = client.predict(tiny.TEXTS)["scores"]
        assert np.ptp(scores, axis=0).max() > 0.01
    with Client(server, "mood", version=1, timeout=60) as client:
        check(model, client.predict(tiny.TEXTS * 2500), tiny.TEXTS * 2500)


def test_empty_batch(server):
    with Client(server, "mood") as client:
        answer = client.predict([])
    assert answer["label"].shape == (0,)
    assert answer["scores"].shape == (0, 2)


def test_ids(model, server):
    ids = {k: np.asarray(v) for k, v in tiny.preprocessor()(tiny.TEXTS).items()}
    with Client(server, "mood", "token_ids") as client:
        check(model, client.predict(ids), tiny.TEXTS)
        wrong = {**ids, "token_ids": ids["token_ids"].astype("int64")}
        with pytest.raises(ValueError, match="INVALID_ARGUMENT: token_ids must be"):
            client.predict(wrong)
        wrong = {**ids, "token_ids": ids["token_ids"] + 10_000}
        with pytest.raises(ValueError, match=r"'token_ids'.*INVALID_ARGUMENT"):
            client.predict(wrong)
        check(model, client.predict(ids), tiny.TEXTS)


def test_pairs(tmp_path):
    model = make_model(pairs=True)
    kbl.export_saved_model(model, tmp_path / "pairs")
    pair = {"text": ["a day", "it is"], "text_pair": ["fine", "not bad"]}
    with (
        prediction_server.running(tmp_path / "pairs") as (_, target),
        Client(target, "pairs") as client,
    ):
        expected = model.predict(pair, verbose=0)["scores"]
        np.testing.assert_allclose(client.predict(pair)["scores"], expected, atol=1e-5)
        with pytest.raises(ValueError, match="INVALID_ARGUMENT"):
            client.predict(["a day"])
        with pytest.raises(ValueError, match="INVALID_ARGUMENT"):
            client.predict({**pair, "text_pair": ["one only"]})


@pytest.mark.parametrize(
    ("options", "inputs", "message"),
    [
        ({}, {"txet": ["a"]}, "INVALID_ARGUMENT.*txet"),
        ({}, {"text": ["a"], "text_pair": ["b"]}, "INVALID_ARGUMENT.*text_pair"),
        ({}, {"text": np.zeros(2, "int32")}, "INVALID_ARGUMENT.*text must be"),
        ({}, {"text": [["a"], ["b"]]}, "INVALID_ARGUMENT.*text must be"),
        ({"signature": "none"}, ["a"], "signature 'none'.*FAILED_PRECONDITION"),
        ({"model": "other"}, ["a"], "Model 'other'.*NOT_FOUND"),
        ({"version": 9}, ["a"], "version 9.*NOT_FOUND"),
    ],
)
def test_the_server_refuses(model, server, options, inputs, message):
    with (
        Client(**{"target": server, "model": "mood", **options}) as client,
        pytest.raises(ValueError, match=message),
    ):
        client.predict(inputs)
    with Client(server, "mood") as client:
        check(model, client.predict(tiny.TEXTS), tiny.TEXTS)


def test_deadline(model, server):
    with (
        Client(server, "mood", timeout=0.01) as client,
        pytest.raises(TimeoutError, match=r"'mood'.*DEADLINE_EXCEEDED"),
    ):
        client.predict(tiny.TEXTS * 5000)
    with Client(server, "mood") as client:
        check(model, client.predict(tiny.TEXTS), tiny.TEXTS)


def follow(client, expected):
    """Returns which of two versions answered, call by call, until the second did."""
    which, end = [], time.monotonic() + 120
    while 1 not in which and time.monotonic() < end:
        scores = client.predict(tiny.TEXTS)["scores"]
        which.append([np.allclose(scores, x, atol=1e-5) for x in expected].index(True))
    return which


def test_a_new_version_takes_over_under_calls(tmp_path):
    models = [make_model(seed) for seed in (1, 2)]
    expected = [m.predict(tiny.TEXTS, verbose=0)["scores"] for m in models]
    assert np.abs(expected[0] - expected[1]).max() > 0.01
    kbl.export_saved_model(models[0], tmp_path / "mood")
    with (
        prediction_server.running(tmp_path / "mood") as (_, target),
        Client(target, "mood") as client,
        ThreadPoolExecutor(4) as threads,
    ):
        callers = [threads.submit(follow, client, expected) for _ in range(4)]
        kbl.export_saved_model(models[1], tmp_path / "mood")
        for caller in callers:
            which = caller.result()
            assert which == [0] * (len(which) - 1) + [1]
            assert len(which) > 1
        with pytest.raises(ValueError, match=r"version 1.*NOT_FOUND"):
            Client(target, "mood", version=1).predict(tiny.TEXTS)

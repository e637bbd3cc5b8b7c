"""A short run of benchmarks/serving_load.py."""

import math
import random
import types

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from benchmarks import serving_load
from tests import tiny

pytestmark = [
    pytest.mark.serving,
    pytest.mark.tensorflow(reason="exports need TensorFlow"),
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    keras.utils.set_random_seed(0)
    model = kbl.with_text(tiny.classifier(initializer_range=1.0), tiny.preprocessor())
    path = tmp_path_factory.mktemp("served") / "mood"
    kbl.export_saved_model(model, path)
    return path


def test_sixteen_callers(directory):
    work = serving_load.Work(serving_load.make_texts(count=64), rows=8, wrong=0.1)
    (side,) = serving_load.measure([directory], 15, work)
    assert side.failures == []
    assert side.refused > 10
    assert len(side.latencies) > 100
    scores = [answer["scores"][0, 0] for answer in work.answers]
    assert max(scores) - min(scores) > 0.1
    assert side.memory[-1] < 1.2 * side.memory[len(side.memory) // 2]


ALONE = {
    "label": np.array(["fine"], object),
    "scores": np.array([[0.25, 0.75]], "float32"),
    "states": np.ones((1, 2, 3), "float32"),
}


@pytest.mark.parametrize("name", [None, *ALONE])
def test_wrong_answers_are_noticed(name):
    answer = {
        "label": np.array(["bad", "fine"], object),
        "scores": np.array([[0.5, 0.5], [0.25, 0.75]], "float32"),
        "states": np.pad(np.ones((2, 2, 3), "float32"), [(0, 0), (0, 4), (0, 0)]),
    }
    if name is not None:
        answer[name][1] = "bad" if name == "label" else answer[name][1] + 0.001
    expected = {None: 0.0, "label": math.inf}.get(name, pytest.approx(0.001, rel=1e-3))
    assert serving_load.difference(answer, 1, ALONE) == expected


def outcome(answer, wrong, tolerance=1e-4):
    """What becomes of a request to a server that gives always the same answer."""
    client = types.SimpleNamespace(predict=lambda inputs: answer)
    side = types.SimpleNamespace(
        client=client, wrong_calls=[lambda: answer], largest_difference=0.0
    )
    work = serving_load.Work(["a day"], 1, wrong, tolerance, [ALONE])
    return serving_load.request(side, work, random.Random(0))


def test_failures_are_noticed():
    assert outcome(ALONE, wrong=0.0)[0] == "good"
    other = {**ALONE, "label": np.array(["bad"], object)}
    assert outcome(other, wrong=0.0) == ("failed", "wrong answer to 'a day'")
    far = {**ALONE, "scores": ALONE["scores"] + 0.01}
    assert outcome(far, wrong=0.0)[0] == "failed"
    assert outcome(far, wrong=0.0, tolerance=0.02)[0] == "good"
    nothing = {**ALONE, "scores": ALONE["scores"] * np.nan}
    assert outcome(nothing, wrong=0.0, tolerance=0.02)[0] == "failed"
    assert outcome(ALONE, wrong=1.0) == ("failed", "a wrong request was answered")

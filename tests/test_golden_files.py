"""Files written by earlier versions load, and answer as they did."""

import json

import keras
import numpy as np
import pytest

import keras_bert_lite  # noqa: F401 - registers the layers
from tests.golden.make_models import ANSWERS, MODELS, answers
from tests.paths import GOLDEN

pytestmark = pytest.mark.tensorflow(reason="string-in models need TensorFlow")


def assert_same(found, expected):
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            assert_same(x, y)
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    else:
        assert found == expected


@pytest.mark.parametrize("name", MODELS)
def test_model(name):
    model = keras.models.load_model(GOLDEN / f"{name}.keras")
    model.run_eagerly = True  # tracing takes seconds; other tests do it
    expected = json.loads(ANSWERS.read_text(encoding="utf-8"))[name]
    found = answers(model, MODELS[name][1])
    assert found.keys() == expected.keys()
    for output, values in expected.items():
        assert_same(found[output], values)

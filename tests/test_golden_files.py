"""Files written by earlier versions load, and answer as they did."""

import json

import keras
import numpy as np
import pytest

import keras_bert_lite  # noqa: F401 - registers the layers
from tests import tiny
from tests.paths import GOLDEN


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="string-in models need TensorFlow"
)
def test_classifier():
    model = keras.models.load_model(GOLDEN / "classifier.keras")
    expected = json.loads((GOLDEN / "classifier.json").read_text())
    answer = model.predict(tiny.TEXTS, verbose=0)
    assert answer["label"].tolist() == expected["label"]
    np.testing.assert_allclose(answer["scores"], expected["scores"], atol=1e-5)

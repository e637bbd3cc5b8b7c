"""Empty in, empty out: batches without rows, and rows without tokens."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.conformance import randomize, to_numpy
from tests.training.samples import FAMILIES

pytestmark = pytest.mark.tensorflow(reason="padding removal is TensorFlow's")
every_family = pytest.mark.parametrize("fields", FAMILIES.values(), ids=FAMILIES)
SHAPES = {"no rows": (0, 5), "no columns": (3, 0), "nothing": (0, 0), "padding": (3, 5)}


def padding(shape):
    """Inputs without a real token."""
    return {
        "token_ids": np.zeros(shape, "int32"),
        "segment_ids": np.zeros(shape, "int32"),
        "padding_mask": np.zeros(shape, "bool"),
    }


@every_family
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_sequences_without_tokens(fields, shape):
    model = kbl.encoder(tiny.config(**{**fields, "pooling": None}))
    randomize(model)
    for choice in (True, False):
        kbl.set_unpadding(model, choice)
        states = to_numpy(model(padding(shape))["sequence_output"])
        np.testing.assert_array_equal(states, np.zeros((*shape, 16)))


@every_family
def test_training_on_padding_alone(fields):
    model = tiny.classifier(**fields)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss)
    assert np.isfinite(model.train_on_batch(padding((3, 5)), np.zeros(3)))
    assert all(np.all(np.isfinite(x)) for x in model.get_weights())


@every_family
def test_string_models(fields, tmp_path):
    model = kbl.with_text(tiny.classifier(**fields), tiny.preprocessor())
    answer = model.predict([])
    assert {name: x.shape[0] for name, x in answer.items()} == {"label": 0, "scores": 0}
    path = kbl.export_saved_model(model, tmp_path / "m", warmup=False)
    report = kbl.check_servable(path)
    assert report.ok, report.problems

"""Matrices stay out of ONNX graphs until these are finished."""

import numpy as np
import onnx
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.presets import DEBERTA_FAMILY, MODERNBERT_FAMILY
from keras_bert_lite.serving.runtimes.onnx import _convert, export_onnx
from keras_bert_lite.serving.runtimes.onnx_weights import WithoutMatrices
from keras_bert_lite.serving.runtimes.runtime_models import OnnxModel
from keras_bert_lite.tasks.text_model import model_on_ids
from tests import tiny
from tests.conformance import randomize

pytestmark = [
    pytest.mark.tensorflow(reason="exports need TensorFlow"),
    pytest.mark.filterwarnings("ignore:Please consider to run pre-processing"),
]


def text_model(changes):
    body = tiny.classifier(**changes)
    randomize(body)
    return kbl.with_text(body, tiny.preprocessor(sequence_length=20))


def test_matrices_are_inputs_while_the_graph_is_made(tmp_path):
    body = WithoutMatrices(model_on_ids(text_model({"hidden_dim": 64})))
    _convert(body, tmp_path / "model.onnx")
    graph = onnx.load(tmp_path / "model.onnx").graph
    assert {x.name for x in graph.input} == {*body.body.input, *body.matrices}
    assert max(np.prod(x.dims) for x in graph.initializer) < 64 * 64
    sizes = [np.prod(x.shape) for x in body.matrices.values()]
    assert sum(sizes) > 0.9 * body.body.count_params()


@pytest.mark.parametrize(
    "changes", [DEBERTA_FAMILY, MODERNBERT_FAMILY], ids=["deberta", "modernbert"]
)
def test_other_families(changes, tmp_path):
    model = text_model(changes)
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    path = export_onnx(model, tmp_path / "model.onnx")
    found = OnnxModel(path, 1).predict(tiny.TEXTS)["scores"]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert {x.name for x in onnx.load(path).graph.input} <= set(
        model_on_ids(model).input
    )

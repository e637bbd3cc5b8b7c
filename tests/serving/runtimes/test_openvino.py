"""OpenVINO's directories in OpenVINO."""

from collections import Counter
from pathlib import Path

import numpy as np
import openvino
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.serving.runtimes.openvino import MODEL_FILE, export_openvino
from keras_bert_lite.serving.runtimes.runtime_models import OpenVinoModel
from tests import tiny
from tests.conformance import randomize

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")


@pytest.fixture(scope="module")
def model():
    body = tiny.classifier()
    randomize(body)
    return kbl.with_text(body, tiny.preprocessor())


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    return export_openvino(model, tmp_path_factory.mktemp("openvino") / "model")


def test_what_the_engine_fuses(path):
    compiled = openvino.Core().compile_model(path / MODEL_FILE, "CPU")
    kinds = Counter(
        node.get_rt_info()["layerType"].astype(str)
        for node in compiled.get_runtime_model().get_ops()
    )
    assert kinds["MVN"] == 5
    assert not {"Math", "If", "Loop"} & set(kinds)
    if "avx512f" in Path("/proc/cpuinfo").read_text():  # attention
        assert "Softmax" not in kinds


def test_bfloat16_is_near(model, path, monkeypatch):
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    scores = OpenVinoModel(path).predict(tiny.TEXTS)["scores"]
    np.testing.assert_allclose(scores, expected, atol=0.1)
    with pytest.raises(ValueError, match=r"`compute` must be one of .*'int4'"):
        OpenVinoModel(path, compute="int4")
    monkeypatch.setattr(openvino.Core, "get_property", lambda *arguments: ["FP32"])
    with pytest.raises(ValueError, match='"float32" or None on a processor without'):
        OpenVinoModel(path, compute="bfloat16")
    plain = OpenVinoModel(path).predict(tiny.TEXTS)["scores"]
    np.testing.assert_allclose(plain, expected, atol=1e-4)


def test_any_batch_and_padding(model, path):
    graph = openvino.Core().compile_model(
        path / MODEL_FILE, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    ids = {k: x.numpy() for k, x in tiny.preprocessor()(tiny.TEXTS).items()}
    wider = {name: np.pad(x, [(0, 0), (0, 3)]) for name, x in ids.items()}
    narrow, wide = (graph(x)["logits"] for x in (ids, wider))
    np.testing.assert_allclose(wide, narrow, atol=1e-5)


def test_a_failed_export_leaves_the_old_directory(model, path, tmp_path, monkeypatch):
    old = tmp_path / "model"
    old.mkdir()
    (old / "keras_bert_lite.json").write_text("old")

    def fail(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(openvino, "save_model", fail)
    with pytest.raises(OSError, match="No space left"):
        export_openvino(model, old)
    assert [x.name for x in tmp_path.rglob("*")] == ["model", "keras_bert_lite.json"]
    assert (old / "keras_bert_lite.json").read_text() == "old"


def test_what_is_refused(model, tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="made by `with_text`"):
        export_openvino(tiny.classifier(), tmp_path / "model")
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match="which holds other files"):
        export_openvino(model, tmp_path)
    with pytest.raises(ValueError, match="carries its preprocessor"):
        OpenVinoModel(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"keras-bert-lite\[openvino\]"):
        export_openvino(model, tmp_path / "model")
    assert [x.name for x in tmp_path.iterdir()] == ["notes.txt"]

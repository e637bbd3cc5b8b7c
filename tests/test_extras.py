"""Without what only one feature needs, the error names the extra that has it."""

import configparser
import re
import sys

import pytest

from keras_bert_lite.checks import check_installed
from keras_bert_lite.pretraining.from_text import _tensorboard
from keras_bert_lite.serving import (
    Client,
    LiteRTModel,
    OnnxModel,
    OpenVinoModel,
    export_onnx,
    export_openvino,
)
from keras_bert_lite.serving.runtimes.few_strings import few_strings
from keras_bert_lite.text.wordpiece.training import train_wordpiece
from keras_bert_lite.visualization import figures
from tests import tiny
from tests.paths import ROOT

FEATURES = [
    ("grpc", "client", lambda: Client("localhost:1", "mood")),
    ("tokenizers", "vocabulary", lambda: train_wordpiece(["a day"], 100)),
    ("tf2onnx", "onnx", lambda: export_onnx("model.keras", "model.onnx")),
    ("onnxruntime", "onnx", lambda: export_onnx("model.keras", "a.onnx", int8=True)),
    ("onnxruntime", "onnx", lambda: OnnxModel("model.onnx")),
    ("ai_edge_litert", "litert", lambda: LiteRTModel("model.tflite")),
    ("openvino", "openvino", lambda: export_openvino("model.keras", "model")),
    ("openvino", "openvino", lambda: OpenVinoModel("model")),
    ("matplotlib", "plot", figures._figure_class.__wrapped__),
    ("tensorboard", "tensorboard", lambda: _tensorboard("logs")),
]


@pytest.mark.parametrize(("module", "extra", "feature"), FEATURES)
def test_a_feature_names_its_extra(module, extra, feature, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    message = rf"keras-bert-lite\[{extra}\]'` .* Not installed: {module}$"
    with pytest.raises(ImportError, match=message):
        feature()


def test_a_fast_path_that_needs_an_extra_is_left_out(monkeypatch):
    preprocessor = tiny.preprocessor()
    assert few_strings(preprocessor)(["a day"]) is not None
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert few_strings(preprocessor)(["a day"]) is None


def test_all_that_is_missing_is_named():
    with pytest.raises(ImportError, match=r"Not installed: no_such, nor_such$"):
        check_installed("no_such", "sys", "nor_such", extra="plot")


def test_extras_that_are_named_exist():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    sources = (ROOT / "keras_bert_lite").rglob("*.py")
    calls = "".join(path.read_text(encoding="utf-8") for path in sources)
    named = set(re.findall(r'extra="(\w+)"', calls))
    assert named == {extra for _, extra, _ in FEATURES}
    assert named <= set(setup["options.extras_require"])

"""Files of other engines, called with strings."""

import threading
import time

import keras
import numpy as np
import onnx
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.serving.runtimes.litert import export_litert
from keras_bert_lite.serving.runtimes.onnx import export_onnx
from keras_bert_lite.serving.runtimes.openvino import export_openvino
from keras_bert_lite.serving.runtimes.runtime_models import (
    LiteRTModel,
    OnnxModel,
    OpenVinoModel,
    joined,
)
from tests import tiny
from tests.conformance import randomize
from tests.threads import check_in_threads

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")
ENGINES = {
    "onnx": (export_onnx, OnnxModel, {}),
    "openvino": (export_openvino, OpenVinoModel, {"compute": "float32"}),
    "tflite": (export_litert, LiteRTModel, {}),
}
TEXTS = [tiny.TEXTS[i % 4] * (1 + i % 3) for i in range(9)]


def exported(model, folder, engine):
    export, load, options = ENGINES[engine]
    return load(export(model, folder / f"model.{engine}"), 1, **options)


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    body = tiny.classifier(["schlecht", "schön"], initializer_range=0.5)
    preprocessor = tiny.preprocessor(sequence_length=24)
    # Half of the texts get each label.
    bias = body.get_layer("head").dense.bias
    bias.assign(-np.median(body(preprocessor(TEXTS))["logits"], axis=0))
    return kbl.with_text(body, preprocessor)


@pytest.fixture(scope="module", params=sorted(ENGINES))
def runtime(request, model, tmp_path_factory):
    return exported(model, tmp_path_factory.mktemp(request.param), request.param)


@pytest.mark.parametrize("batch_size", [4, 32])  # the first sorts by length
def test_the_same_answers(model, runtime, batch_size):
    answers = runtime.predict(TEXTS, batch_size=batch_size)
    expected = model.predict(TEXTS, verbose=0)
    assert list(answers) == list(expected)
    assert answers["label"].tolist() == expected["label"].tolist()
    assert len(set(expected["label"])) == 2
    np.testing.assert_allclose(answers["scores"], expected["scores"], atol=1e-4)


def test_many_threads(model, runtime, monkeypatch):
    if not runtime.concurrent:  # first without the engine, which could hang
        with monkeypatch.context() as patch:
            patch.setattr(runtime, "_run", alone)
            rows = np.zeros([len(TEXTS), 2])
            check_in_threads(lambda x: runtime.predict(x)["scores"] * 0, TEXTS, rows, 1)
    expected = model.predict(TEXTS, verbose=0)["scores"]
    assert len(np.unique(expected[:, 0].round(3))) > 6
    check_in_threads(lambda x: runtime.predict(x, 4)["scores"], TEXTS, expected)


RUNNING = threading.Lock()


def alone(ids):
    assert RUNNING.acquire(blocking=False), "two calls at a time"
    time.sleep(0.001)
    RUNNING.release()
    return {"logits": np.zeros([len(ids["token_ids"]), 2], "float32")}


def test_no_texts(runtime):
    answers = runtime.predict([])
    assert answers["label"].shape == (0,)
    assert answers["scores"].shape == (0, 2)


def test_texts_over_the_length(model, runtime):
    texts = ["the day " * 100, "a"]
    expected = model.predict(texts, verbose=0)["scores"]
    scores = runtime.predict(texts)["scores"]
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_what_the_file_carries(model, runtime):
    assert runtime.answer.labels == ["schlecht", "schön"]
    assert runtime.preprocessor.sequence_length == 24
    assert runtime.preprocessor.tokenizer.get_vocabulary() == tiny.VOCABULARY


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_pairs_and_sequences(tmp_path, engine):
    encoder = tiny.encoder(num_layers=1)
    model = kbl.with_text(encoder, tiny.preprocessor(sequence_length=20), pairs=True)
    runtime = exported(model, tmp_path, engine)
    pairs = {"text": ["a day", "the finer"], "text_pair": ["fine", "bad weather!"]}
    expected = model.predict(pairs, verbose=0)
    answers = runtime.predict(pairs, batch_size=1)
    assert sorted(answers) == sorted(expected)
    for name, values in answers.items():
        np.testing.assert_allclose(values, expected[name], atol=1e-4)
    rows = list(zip(pairs["text"], pairs["text_pair"], strict=True))
    np.testing.assert_array_equal(
        runtime.predict(rows, 1)["pooled_output"], answers["pooled_output"]
    )
    with pytest.raises(ValueError, match="Received: \\['text'\\]"):
        runtime.predict(["a day"])
    with pytest.raises(ValueError, match=r"must be a pair .* Received: \('a',\)"):
        runtime.predict([("a", "b"), ("a",)])
    with pytest.raises(ValueError, match="Received: 2 and 1"):
        runtime.predict((["a", "b"], ["c"]), batch_size=1)


@pytest.mark.parametrize(
    "build",
    [
        lambda encoder: kbl.multi_label_classifier(encoder, labels=["x", "y"]),
        kbl.regressor,
        kbl.sentence_encoder,
    ],
    ids=["labels", "number", "vector"],
)
def test_other_tasks(build, tmp_path):
    body = build(tiny.encoder(num_layers=1))
    randomize(body)
    model = kbl.with_text(body, tiny.preprocessor(sequence_length=20))
    answers = exported(model, tmp_path, "openvino").predict(tiny.TEXTS)
    expected = model.predict(tiny.TEXTS, verbose=0)
    assert list(answers) == list(expected)
    for name, values in answers.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(values, expected[name], atol=1e-4)
        else:
            assert values.tolist() == expected[name].tolist()


def test_a_tuple_is_a_pair(runtime):
    with pytest.raises(ValueError, match=r"takes \['text'\].*pass several .* a list"):
        runtime.predict(("a day", "fine"))


def test_a_file_of_another_maker(tmp_path):
    value = onnx.helper.make_tensor_value_info("x", 1, ["n"])
    out = onnx.helper.make_tensor_value_info("y", 1, ["n"])
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [value], [out])
    opset = [onnx.helper.make_opsetid("", 18)]
    model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(ValueError, match="carries its preprocessor"):
        OnnxModel(tmp_path / "other.onnx")


def test_joining():
    parts = [np.ones((1, 2, 3)), np.ones((2, 4, 3))]
    whole = joined(parts)
    assert whole.shape == (3, 4, 3)
    assert whole.sum() == 6 + 24
    assert joined([np.ones((1, 2)), np.ones((3, 2))]).shape == (4, 2)

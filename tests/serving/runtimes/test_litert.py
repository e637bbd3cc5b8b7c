"""LiteRT files in LiteRT."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

import keras_bert_lite as kbl
from keras_bert_lite.serving.runtimes.litert import export_litert, lengths_up_to
from tests import tiny

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")


@pytest.fixture(scope="module")
def body():
    keras.utils.set_random_seed(0)
    return tiny.classifier(initializer_range=0.5, hidden_dim=64, intermediate_dim=128)


@pytest.fixture(scope="module")
def model(body):
    return kbl.with_text(body, tiny.preprocessor(sequence_length=24))


@pytest.fixture(scope="module")
def paths(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("litert")
    return [
        export_litert(model, folder / f"{int8}.tflite", int8) for int8 in (False, True)
    ]


def run(path, length, ids):
    runner = Interpreter(str(path)).get_signature_runner(f"length_{length}")
    width = ids["token_ids"].shape[1]
    padded = {k: np.pad(x, [(0, 0), (0, length - width)]) for k, x in ids.items()}
    return runner(**padded)


def ids_of(text):
    return {name: x.numpy() for name, x in tiny.preprocessor()([text]).items()}


@pytest.mark.parametrize("length", [16, 24])
@pytest.mark.parametrize("text", tiny.TEXTS)
def test_the_same_values(body, paths, length, text):
    ids = ids_of(text)
    outputs = run(paths[0], length, ids)
    assert list(outputs) == ["logits"]
    np.testing.assert_allclose(outputs["logits"], body(ids)["logits"], atol=1e-4)


def test_int8(body, paths):
    expected = np.concatenate([body(ids_of(text))["logits"] for text in tiny.TEXTS])
    logits = np.concatenate(
        [run(paths[1], 16, ids_of(text))["logits"] for text in tiny.TEXTS]
    )
    assert 0 < np.abs(logits - expected).max() < 0.1 * np.ptp(expected)


def test_weights_are_stored_once(model, paths):
    weights = sum(4 * np.prod(v.shape) for v in model.variables if "float" in v.dtype)
    whole, small = (path.stat().st_size for path in paths)
    assert weights <= whole < weights + 250_000
    assert whole - small > 0.6 * weights


def test_signatures(paths):
    interpreter = Interpreter(str(paths[0]))
    signatures = interpreter.get_signature_list()
    names = ["padding_mask", "segment_ids", "token_ids"]
    assert sorted(signatures) == ["length_16", "length_24"]
    assert all(sorted(x["inputs"]) == names for x in signatures.values())


def test_only_litert_operators(paths):
    details = Interpreter(str(paths[0]))._get_ops_details()
    names = {operator["op_name"] for operator in details}
    assert "FULLY_CONNECTED" in names
    assert not [name for name in names if "Flex" in name or "CUSTOM" in name]


@pytest.mark.parametrize(
    ("longest", "lengths"),
    [(3, [3]), (16, [16]), (24, [16, 24]), (128, [16, 32, 64, 128])],
)
def test_lengths(longest, lengths):
    assert lengths_up_to(longest) == lengths


def test_a_failed_export_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"old")

    def fail(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", fail)
    with pytest.raises(OSError, match="No space left"):
        export_litert(model, path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.tflite"]
    assert path.read_bytes() == b"old"


def test_the_model_keeps_its_layout(body, paths):
    blocks = body.get_layer("encoder").get_layer("blocks")
    assert blocks.unpadding == "auto"


def test_model_must_take_strings(tmp_path):
    with pytest.raises(TypeError, match="made by `with_text`"):
        export_litert(tiny.classifier(), tmp_path / "model.tflite")


def test_signatures_need_a_longest_length(tmp_path):
    relative = kbl.config.RelativePositions(max_distance=8, buckets=4)
    fields = {"max_sequence_length": None, "relative_positions": relative}
    unlimited = kbl.with_text(tiny.classifier(**fields), tiny.preprocessor(None))
    with pytest.raises(ValueError, match="Received: sequence_length=None"):
        export_litert(unlimited, tmp_path / "model.tflite")
    assert not list(tmp_path.iterdir())

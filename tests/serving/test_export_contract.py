"""What an export holds beside its two main signatures."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from tests import tiny
from tests.full_disk import full_disk

LABELS = ("bad", 'fine \\ "day"')


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(1)  # of some, half precision moves scores by 0.1
    return kbl.with_text(
        tiny.classifier(LABELS, initializer_range=1.0), tiny.preprocessor()
    )


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    directory = tmp_path_factory.mktemp("export") / "m"
    return kbl.export_saved_model(model, directory, batching={"max_batch_size": 16})


@pytest.fixture(scope="module")
def loaded(path):
    return tf.saved_model.load(str(path))


def test_tokenize_gives_the_inputs_of_token_ids(loaded, model):
    texts = tf.constant(tiny.TEXTS)
    ids = loaded.signatures["tokenize"](text=texts)
    expected = tiny.preprocessor()(tiny.TEXTS)
    assert {k: v.numpy().tolist() for k, v in ids.items()} == {
        k: v.numpy().tolist() for k, v in expected.items()
    }
    answer = loaded.signatures["token_ids"](**ids)
    np.testing.assert_allclose(answer["scores"], model(texts)["scores"], atol=1e-5)


def example(**features):
    proto = tf.train.Example()
    for name, text in features.items():
        proto.features.feature[name].bytes_list.value.append(text.encode())
    return proto.SerializeToString()


def test_classify_takes_examples(loaded, path, model):
    examples = tf.constant([example(text=text) for text in tiny.TEXTS])
    answer = loaded.signatures["classify"](inputs=examples)
    expected = model(tiny.TEXTS)["scores"]
    np.testing.assert_allclose(answer["scores"], expected, atol=1e-5)
    classes = [[x.decode() for x in row] for row in answer["classes"].numpy()]
    assert classes == [list(LABELS)] * 4
    report = kbl.check_servable(path)
    assert report.ok
    assert report.warnings == ()


def test_classify_takes_pairs(tmp_path):
    model = kbl.with_text(tiny.classifier(), tiny.preprocessor(), pairs=True)
    path = kbl.export_saved_model(model, tmp_path, warmup=False)
    classify = tf.saved_model.load(str(path)).signatures["classify"]
    answer = classify(inputs=tf.constant([example(text="a day", text_pair="fine")]))
    expected = model({"text": ["a day"], "text_pair": ["fine"]})["scores"]
    np.testing.assert_allclose(answer["scores"], expected, atol=1e-5)


def test_only_classifiers_classify(tmp_path):
    model = kbl.with_text(tiny.encoder(), tiny.preprocessor())
    path = kbl.export_saved_model(model, tmp_path, warmup=False)
    signatures = tf.saved_model.load(str(path)).signatures
    assert sorted(signatures) == ["serving_default", "token_ids", "tokenize"]
    assert not (path / "assets.extra" / "tf_serving_warmup_requests").exists()


def test_warmup_covers_short_and_long_texts(path):
    requests = kbl.serving.read_warmup(path)
    assert {name for name, _ in requests} == {
        "serving_default",
        "tokenize",
        "token_ids",
    }
    widths = {x["token_ids"].shape for name, x in requests if name == "token_ids"}
    assert widths > {(1, 2), (1, 16), (3, 16)}


def test_warmup_of_ones_own(model, tmp_path):
    path = kbl.export_saved_model(model, tmp_path, warmup=["the day"])
    texts = [
        x["text"].tolist() for n, x in kbl.serving.read_warmup(path) if "text" in x
    ]
    assert texts[0] == [b"the day"]
    with pytest.raises(TypeError, match="`warmup` must be a list of strings"):
        kbl.export_saved_model(model, tmp_path, warmup="the day")


def test_warmup_that_fails_keeps_the_version_back(model, tmp_path, monkeypatch):
    def fail(_):
        raise ValueError("Warm-up record 0 fails")

    monkeypatch.setattr(
        "keras_bert_lite.serving.saved_model.export.replay_warmup", fail
    )
    with pytest.raises(ValueError, match="Warm-up record 0"):
        kbl.export_saved_model(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_batching_parameters(path, model, tmp_path):
    assert (
        "max_batch_size { value: 16 }" in (path / "batching_params.pbtxt").read_text()
    )
    with pytest.raises(ValueError, match="`max_batch_size` must be"):
        kbl.export_saved_model(model, tmp_path, batching={"max_batch_size": 0})


def test_metadata(path):
    text = (path / "assets.extra" / "keras_bert_lite.json").read_text(encoding="utf-8")
    facts = json.loads(text)
    assert facts["keras_bert_lite"] == kbl.__version__
    assert facts["labels"] == list(LABELS)
    assert kbl.EncoderConfig(**facts["config"]) == tiny.config(initializer_range=1.0)
    assert facts["sequence_length"] == 16
    assert "FastWordpieceTokenizeWithOffsets" in facts["ops"]
    assert facts["ops"] == list(kbl.check_servable(path).ops)


def test_padding_is_removed_unless_the_model_says_not_to(model, path, tmp_path):
    ops = kbl.check_servable(path).ops
    assert "FusedBatchNormV3" in ops
    blocks = model.get_layer("text_classifier").get_layer("encoder").get_layer("blocks")
    assert blocks.unpadding == "auto"
    kbl.set_unpadding(model, False)
    try:
        padded = kbl.export_saved_model(model, tmp_path, warmup=False)
    finally:
        kbl.set_unpadding(model, "auto")
    assert "FusedBatchNormV3" not in kbl.check_servable(padded).ops
    answers = [
        tf.saved_model.load(str(x)).signatures["serving_default"](
            text=tf.constant(tiny.TEXTS)
        )["scores"]
        for x in (path, padded)
    ]
    np.testing.assert_allclose(*answers, atol=1e-5)


def test_a_full_disk_leaves_nothing_behind(model, tmp_path):
    error = tf.errors.OpError, OSError
    with full_disk(100_000), pytest.raises(error, match="File too large"):
        kbl.export_saved_model(model, tmp_path / "out", warmup=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("storage", "error"), [("float16", 5e-3), ("bfloat16", 5e-2)])
def test_half_storage(model, path, tmp_path, storage, error):
    half = kbl.export_saved_model(model, tmp_path, storage=storage, warmup=False)
    sizes = [
        (x / "variables" / "variables.data-00000-of-00001").stat().st_size
        for x in (half, path)
    ]
    assert sizes[0] < 0.75 * sizes[1]
    assert kbl.check_servable(half).ok
    answer = tf.saved_model.load(str(half)).signatures["serving_default"](
        text=tf.constant(tiny.TEXTS)
    )
    expected = model(tiny.TEXTS)["scores"]
    difference = np.abs(answer["scores"] - expected).max()
    assert 0 < difference < error
    with pytest.raises(ValueError, match="`storage` must be one of"):
        kbl.export_saved_model(model, tmp_path, storage="int8")


def test_models_reload_and_export_alike(model, tmp_path):
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    path = kbl.export_saved_model(again, tmp_path / "m", warmup=False)
    answer = tf.saved_model.load(str(path)).signatures["serving_default"](
        text=tf.constant(tiny.TEXTS)
    )
    np.testing.assert_allclose(answer["scores"], model(tiny.TEXTS)["scores"], atol=1e-5)

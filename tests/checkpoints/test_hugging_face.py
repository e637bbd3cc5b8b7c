"""Checkpoints in Hugging Face layout, written here without the reference."""

import functools
import os

import huggingface_hub
import keras
import ml_dtypes
import numpy as np
import pytest

import keras_bert_lite as kbl
from tests.checkpoints.directories import (
    CLASSIFIER,
    assert_same,
    tensors,
    with_head,
    write,
)


def test_every_tensor_arrives(tmp_path):
    weights = tensors()
    model = kbl.load_encoder(write(tmp_path, weights))
    assert model.count_params() == sum(x.size for x in weights.values())
    stored = sorted(float(np.sum(x, dtype=np.float64)) for x in weights.values())
    loaded = sorted(float(np.sum(x, dtype=np.float64)) for x in model.get_weights())
    np.testing.assert_allclose(loaded, stored, atol=1e-5)
    kernel = model.get_layer("blocks").blocks[1].feed_forward.intermediate_dense.kernel
    expected = weights["encoder.layer.1.intermediate.dense.weight"].T
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(kernel), expected)


def test_prefix_and_old_names(tmp_path):
    plain = kbl.load_encoder(write(tmp_path))
    renamed = {
        f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): value
        for name, value in tensors().items()
    }
    assert_same(plain, kbl.load_encoder(write(tmp_path, renamed)))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_weights(tmp_path, dtype):
    halves = {name: value.astype(dtype) for name, value in tensors().items()}
    model = kbl.load_encoder(write(tmp_path, halves))
    assert {v.dtype for v in model.weights} == {"float32"}
    rounded = {name: value.astype(np.float32) for name, value in halves.items()}
    assert_same(model, kbl.load_encoder(write(tmp_path, rounded)))


def test_without_pooler(tmp_path):
    weights = {k: v for k, v in tensors().items() if "pooler" not in k}
    model = kbl.load_encoder(write(tmp_path, weights))
    assert sorted(model.output) == ["sequence_output"]
    with pytest.warns(UserWarning, match=r"no weights for \['pooler/dense/kernel'"):
        model = kbl.load_encoder(tmp_path, pooling="cls_dense")
    assert "pooled_output" in model.output


def test_another_pooling(tmp_path):
    with pytest.warns(UserWarning, match=r"not used: \['pooler.dense.bias'"):
        model = kbl.load_encoder(write(tmp_path), pooling="mean")
    assert "pooled_output" in model.output


def test_unused_head_is_named(tmp_path):
    directory = write(tmp_path, with_head(), **CLASSIFIER)
    with pytest.warns(UserWarning, match=r"not used: \['classifier.bias'"):
        kbl.load_encoder(directory)


def test_classifier_with_its_labels(tmp_path):
    weights = with_head()
    model = kbl.load_model(write(tmp_path, weights, **CLASSIFIER))
    head = model.get_layer("head")
    assert head.labels == ["bad", "fine", "great"]
    kernel = keras.ops.convert_to_numpy(head.dense.kernel)
    np.testing.assert_array_equal(kernel, weights["classifier.weight"].T)


def test_load_model_of_an_encoder(tmp_path):
    directory = write(tmp_path)
    assert_same(kbl.load_model(directory), kbl.load_encoder(directory))


def test_configuration_is_honoured(tmp_path):
    write(tmp_path, hidden_act="gelu_new", layer_norm_eps=1e-3)
    model = kbl.load_encoder(tmp_path, dropout=0.0)
    block = model.get_layer("blocks").blocks[0]
    assert block.feed_forward.activation == "gelu_tanh"
    assert block.attention_norm.epsilon == 1e-3
    assert block.dropout.rate == 0.0


def test_buffers_are_no_weights(tmp_path):
    buffers = {"embeddings.position_ids": np.arange(24)[None]}
    assert_same(
        kbl.load_encoder(write(tmp_path)),
        kbl.load_encoder(write(tmp_path, tensors() | buffers)),
    )


REFUSED = {
    "model_type": ("gpt2", "`model_type` must be one of .*'bert'.* Received: 'gpt2'"),
    "hidden_act": ("mish", "`hidden_act` must be one of .* Received: 'mish'"),
    "position_embedding_type": ("relative_key", "`position_embedding_type` must be"),
    "is_decoder": (True, "`is_decoder` must be False. Received: True"),
    "vocab_size": (None, r"the fields \['vocab_size'\] are missing"),
    "num_attention_heads": (3, "`num_heads` must divide `hidden_dim`"),
    "hidden_size": ("16", "`hidden_dim` must be a positive integer. Received: '16'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_configurations(tmp_path, name):
    value, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        kbl.load_encoder(write(tmp_path, **{name: value}))


@pytest.mark.parametrize("content", ["{", "[]", '"bert"', ""])
def test_broken_config(tmp_path, content):
    write(tmp_path)
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=r"config\.json"):
        kbl.load_encoder(tmp_path)


def test_missing_tensor(tmp_path):
    weights = tensors()
    del weights["encoder.layer.1.output.dense.bias"]
    with pytest.raises(ValueError, match=r"lacks 1 tensors: .*1\.output\.dense\.bias"):
        kbl.load_encoder(write(tmp_path, weights))


def test_extra_tensor(tmp_path):
    extra = {"encoder.layer.2.output.dense.bias": np.zeros(16, np.float32)}
    with pytest.raises(ValueError, match=r"does not account for: .*layer\.2"):
        kbl.load_encoder(write(tmp_path, tensors() | extra))


def test_misshapen_tensor(tmp_path):
    name = "encoder.layer.0.intermediate.dense.weight"
    weights = tensors()
    weights[name] = np.ascontiguousarray(weights[name].T)
    with pytest.raises(ValueError, match=r"must have the shape \(32, 16\). Received"):
        kbl.load_encoder(write(tmp_path, weights))


def test_truncated_file(tmp_path):
    path = write(tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"model\.safetensors cannot be read"):
        kbl.load_encoder(tmp_path)


def test_pickles_are_never_loaded(tmp_path):
    write(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(ValueError, match="is a pickle, which is never loaded"):
        kbl.load_encoder(tmp_path)


def test_head_without_labels_to_match(tmp_path):
    with pytest.raises(ValueError, match=r"'classifier.weight' must have the shape"):
        kbl.load_model(write(tmp_path, with_head(rows=2), **CLASSIFIER))


def test_other_heads_are_refused(tmp_path):
    directory = write(tmp_path, architectures=["BertLMHeadModel"])
    with pytest.raises(ValueError, match="BertLMHeadModel is not supported"):
        kbl.load_model(directory)


@pytest.mark.parametrize("source", ["no/such/place", "s3://bucket/name"])
def test_unknown_sources(source):
    with pytest.raises(ValueError, match=f"`source` must be .*Received: '{source}'"):
        kbl.load_encoder(source)


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """Huggingface_hub's real download, on a cache and without a network."""
    offline = functools.partial(
        huggingface_hub.snapshot_download, cache_dir=tmp_path, local_files_only=True
    )
    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    snapshot = tmp_path / "models--owner--name" / "snapshots" / "abc"
    os.makedirs(snapshot)
    refs = tmp_path / "models--owner--name" / "refs"
    refs.mkdir()
    (refs / "main").write_text("abc")
    return snapshot


def test_hub_name(hub_cache):
    directory = write(hub_cache)
    assert_same(kbl.load_encoder("hf://owner/name"), kbl.load_encoder(directory))


def test_hub_name_that_cannot_be_had(hub_cache):
    with pytest.raises(ValueError, match="hf://owner/other could not be downloaded"):
        kbl.load_encoder("hf://owner/other")
    with pytest.raises(ValueError, match="not hf://owner/name"):
        kbl.load_encoder("hf://a/b/c")


def test_integers_are_no_weights(tmp_path):
    integers = {name: value.astype(np.int8) for name, value in tensors().items()}
    with pytest.raises(ValueError, match=r"must be one of .*F32.* Received: I8"):
        kbl.load_encoder(write(tmp_path, integers))


def test_a_new_pooler_is_drawn(tmp_path):
    """Though nothing is, of what the checkpoint has."""
    weights = {k: v for k, v in tensors().items() if "pooler" not in k}
    write(tmp_path, weights)
    with pytest.warns(UserWarning, match="start from random weights"):
        model = kbl.load_encoder(tmp_path, pooling="cls_dense")
    kernel, bias = model.get_layer("pooler").get_weights()
    assert 0.01 < kernel.std() < 0.03
    assert not bias.any()


def test_large_tables_are_read_by_rows(tmp_path, monkeypatch):
    expected = kbl.load_encoder(write(tmp_path))
    monkeypatch.setattr("keras_bert_lite.checkpoints.core.tensors.LARGE", 50)
    assert_same(kbl.load_encoder(tmp_path), expected)


def test_half_a_pooler(tmp_path):
    weights = tensors()
    del weights["pooler.dense.weight"]
    with pytest.raises(ValueError, match=r"lacks 1 tensors: \['pooler.dense.weight'"):
        kbl.load_encoder(write(tmp_path, weights))


def test_a_classifier_needs_its_pooler(tmp_path):
    weights = {k: v for k, v in with_head().items() if "pooler" not in k}
    with pytest.raises(ValueError, match=r"lacks the tensors 'pooler"):
        kbl.load_model(write(tmp_path, weights, **CLASSIFIER))


@pytest.mark.parametrize("change", [{"num_heads": 4}, {"activation": "relu"}])
def test_only_rates_may_differ_from_the_checkpoint(tmp_path, change):
    with pytest.raises(ValueError, match=r"may differ from the checkpoint\. Received"):
        kbl.load_encoder(write(tmp_path), **change)


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "_orig_mod.module.bert."])
def test_prefixes_of_pytorch(tmp_path, prefix):
    (tmp_path / "plain").mkdir()
    expected = kbl.load_encoder(write(tmp_path / "plain"))
    weights = {prefix + name: x for name, x in tensors().items()}
    weights = {
        name.replace("layer.1.", "layer.1._orig_mod."): x for name, x in weights.items()
    }
    assert_same(kbl.load_encoder(write(tmp_path, weights)), expected)

"""Low-rank adaptation of an encoder."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.freezing import freeze
from keras_bert_lite.training.lora import enable_lora, merge_lora
from keras_bert_lite.training.optimizers import bert_adamw
from tests import tiny
from tests.conformance import assert_all_close
from tests.training.samples import (
    FAMILIES,
    INPUTS,
    TARGETS,
    changed,
    classifier,
    compiled,
    values,
)

HEAD = {"head/dense/kernel", "head/dense/bias"}


def adapted(**arguments):
    model = classifier()
    enable_lora(model, rank=2, **arguments)
    return model


def trained(**arguments):
    model = adapted(**arguments)
    compiled(model, bert_adamw(None, 1e-2))
    model.fit(INPUTS, TARGETS, epochs=3, verbose=0)
    return model


def layers_of(paths):
    return {path.rpartition("/")[0].removeprefix("blocks/") for path in paths}


def test_only_low_rank_and_head_weights_train():
    model = adapted()
    before = values(model)
    compiled(model, bert_adamw(None, 1e-2))
    model.fit(INPUTS, TARGETS, epochs=2, verbose=0)
    lora = {path for path in before if "/lora_kernel_" in path}
    assert changed(before, values(model)) == lora | HEAD
    assert len(lora) == 2 * 2 * 2  # layers, targets, factors


def test_changes_nothing_at_first():
    assert_all_close(adapted()(INPUTS), classifier()(INPUTS))


def test_counts_of_the_documentation():
    encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    model = kbl.text_classifier(encoder, labels=["bad", "good"])
    enable_lora(model)
    assert sum(np.prod(x.shape) for x in model.trainable_weights) == 8450


@pytest.mark.parametrize(
    ("targets", "layers"),
    [
        (["key"], {"attention/key"}),
        (["attention/output_dense"], {"attention/output_dense"}),
        (["output_dense"], {"attention/output_dense", "feed_forward/output_dense"}),
        (
            ["query", "intermediate_dense"],
            {"attention/query", "feed_forward/intermediate_dense"},
        ),
    ],
)
def test_targets(targets, layers):
    paths = values(adapted(targets=targets), trainable=True)
    got = layers_of(path for path in paths if path.startswith("blocks/"))
    assert got == {f"block_{i}/{layer}" for i in range(2) for layer in layers}


def test_positions_of_deberta_are_a_target():
    relative = kbl.config.RelativePositions(max_distance=4, share_projections=False)
    model = tiny.classifier(relative_positions=relative)
    enable_lora(model, targets=["position_key"])
    assert "blocks/block_1/attention/position_key/lora_kernel_a" in values(model)


def test_a_shared_block_is_adapted_once():
    model = tiny.classifier(**FAMILIES["albert"])
    enable_lora(model)
    assert len([path for path in values(model) if "/lora_" in path]) == 2 * 2


def test_alpha_scales_the_change():
    model = adapted(alpha=6.0)
    block = kbl.encoder_of(model).get_layer("blocks").blocks[0]
    assert block.attention.query.lora_alpha / block.attention.query.lora_rank == 3


def test_adapts_frozen_layers_too():
    model = classifier()
    freeze(model, 2)
    enable_lora(model)
    assert len(model.trainable_weights) == 2 * 2 * 2 + len(HEAD)


def test_merges_into_a_plain_model():
    model = trained()
    plain = merge_lora(model)
    assert values(plain).keys() == values(classifier()).keys()
    assert len(plain.trainable_weights) == len(plain.weights)
    query = "blocks/block_0/attention/query/kernel"
    assert not np.allclose(values(plain)[query], values(model)[query], atol=1e-6)
    assert_all_close(plain(INPUTS), model(INPUTS))


def test_weights_load_into_a_plain_model(tmp_path):
    model, plain = trained(), classifier(seed=1)
    model.save_weights(tmp_path / "model.weights.h5")
    plain.load_weights(tmp_path / "model.weights.h5")
    assert_all_close(plain(INPUTS), model(INPUTS))


def test_saves_a_plain_model(tmp_path):
    model = trained()
    model.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras", compile=False)
    assert len(twin.trainable_weights) == len(twin.weights)
    assert_all_close(twin(INPUTS), model(INPUTS))


def test_may_be_enabled_again_once_merged():
    plain = merge_lora(trained())
    enable_lora(plain)
    assert any("/lora_" in path for path in values(plain))


def test_refuses_a_second_time():
    with pytest.raises(
        ValueError, match="`model` must be without LoRA; call `merge_lora`"
    ):
        enable_lora(adapted())
    with pytest.raises(ValueError, match="`model` must be without LoRA"):
        freeze(adapted(), 1)


@pytest.mark.parametrize("targets", [["dense"], ["query", "uery"], []])
def test_refuses_unknown_targets(targets):
    message = r"`targets` must be among \['attention/key', .*Received: \["
    with pytest.raises(ValueError, match=message):
        adapted(targets=targets)


def test_refuses_targets_that_are_no_list():
    with pytest.raises(TypeError, match=r"`targets` must be a list of .* 'query'"):
        adapted(targets="query")


@pytest.mark.parametrize(("name", "value"), [("rank", 0), ("rank", 1.5), ("alpha", -1)])
def test_refuses_numbers_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must .*Received: {value}"):
        enable_lora(classifier(), **{name: value})

"""Exports whose encoder multiplies in bfloat16."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of
from keras_bert_lite.presets import DEBERTA_FAMILY, MODERNBERT_FAMILY
from keras_bert_lite.serving.saved_model import bfloat16
from tests import tiny
from tests.serving.saved_model.int8.test_int8_export import own_model

pytestmark = [
    pytest.mark.tensorflow(reason="exports need TensorFlow"),
    pytest.mark.filterwarnings("ignore:`compute='bfloat16'` is for"),
]
POOLED = {"pooling": "cls_dense"}


def exported(folder, changes=None, unpadding=True, **options):
    keras.utils.set_random_seed(0)
    changes = {"num_layers": 1, **(changes or {}), **POOLED}
    body = tiny.classifier(initializer_range=0.5, **changes)
    encoder_layers(encoder_of(body))[1].unpadding = unpadding
    model = kbl.with_text(body, tiny.preprocessor())
    options = {"compute": "bfloat16", "warmup": False, **options}
    return model, kbl.export_saved_model(model, folder, **options)


def products(graph):
    """The types of the products in a graph and its functions."""
    functions = [x.node_def for x in graph.library.function]
    nodes = [node for part in (graph.node, *functions) for node in part]
    return [
        tf.as_dtype(x.attr["T"].type).name
        for x in nodes
        if x.op in ("MatMul", "BatchMatMulV2")
    ]


@pytest.mark.parametrize(
    ("changes", "unpadding"),
    [
        ({}, True),
        ({}, False),
        ({**MODERNBERT_FAMILY, "num_layers": 2}, True),
        (DEBERTA_FAMILY, True),
    ],
    ids=["bert", "padded", "modernbert", "deberta"],
)
def test_answers_are_near(changes, unpadding, tmp_path):
    model, path = exported(tmp_path, changes, unpadding)
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    serve = tf.saved_model.load(str(path)).signatures["serving_default"]
    found = serve(text=tf.constant(tiny.TEXTS))["scores"].numpy()
    np.testing.assert_allclose(found, expected, atol=0.02)
    assert not np.array_equal(found, expected)


def test_dense_layers_multiply_in_bfloat16(tmp_path):
    _, path = exported(tmp_path)
    serve = tf.saved_model.load(str(path)).signatures["serving_default"]
    found = products(serve.graph.as_graph_def())
    assert found.count("bfloat16") == 6  # the dense layers of the block
    assert "float32" in found  # attention


@keras.saving.register_keras_serializable("tests")
class Tempered(kbl.layers.SelfAttention):
    """With a weight of its own, which an export must keep."""

    def build(self, x_shape, *args, **kwargs):
        super().build(x_shape)
        self.temperature = self.add_weight((self.num_heads, 1), name="temperature")

    def project(self, x):
        query, key, value = super().project(x)
        return query * self.temperature, key, value


def test_weights_of_a_users_attention_are_kept(tmp_path):
    attention = Tempered(4, initializer_range=0.5)
    block = kbl.layers.EncoderBlock(attention=attention, intermediate_dim=128)
    body = own_model([block])
    attention.temperature.assign([[5.0]] * 4)
    model = kbl.with_text(body, tiny.preprocessor())
    options = {"compute": "bfloat16", "warmup": False}
    path = kbl.export_saved_model(model, tmp_path, **options)
    serve = tf.saved_model.load(str(path)).signatures["serving_default"]
    found = serve(text=tf.constant(tiny.TEXTS))["scores"].numpy()
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    attention.temperature.assign([[0.0]] * 4)
    other = model.predict(tiny.TEXTS, verbose=0)["scores"]
    assert np.abs(found - expected).max() < 0.3 * np.abs(found - other).max()


def test_half_of_the_bytes(tmp_path):
    sizes = []
    for compute in (None, "bfloat16"):
        options = {"compute": compute, "storage": "bfloat16" if compute else None}
        _, path = exported(tmp_path / str(compute), {"hidden_dim": 128}, **options)
        file = path / "variables" / "variables.data-00000-of-00001"
        sizes.append(file.stat().st_size)
    assert 0.5 < sizes[1] / sizes[0] < 0.55


def test_the_model_stays_as_it_was(tmp_path):
    model, _ = exported(tmp_path)
    before = model.predict(tiny.TEXTS, verbose=0)["scores"]
    again = kbl.export_saved_model(model, tmp_path, warmup=False)
    serve = tf.saved_model.load(str(again)).signatures["serving_default"]
    found = serve(text=tf.constant(tiny.TEXTS))["scores"]
    np.testing.assert_allclose(found, before, atol=1e-6)


@pytest.mark.filterwarnings("default")
def test_says_where_it_does_not_pay(tmp_path, monkeypatch):
    seconds = {tf.float32: 1.0, tf.bfloat16: 2.5}
    monkeypatch.setattr(bfloat16, "_seconds", seconds.get)
    with pytest.warns(UserWarning, match=r"This machine takes 2\.5 times as long"):
        exported(tmp_path)


def test_other_types(tmp_path):
    with pytest.raises(ValueError, match="`compute` must be one of"):
        exported(tmp_path, compute="float16")
    assert not list(tmp_path.iterdir())

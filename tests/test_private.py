"""The private names of other packages still are and do what `_private` needs."""

import ast
import gc
import re
import weakref
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.ops import gradient_registry

import keras_bert_lite as kbl
from keras_bert_lite import _private
from tests import tiny

SOURCES = Path(kbl.__file__).parent
tensorflow = pytest.mark.tensorflow(reason="needs TensorFlow's variables")


def test_sublayers_are_all_layers_inside():
    model = kbl.text_classifier(tiny.encoder(), ["a", "b"])
    names = [layer.name for layer in _private.sublayers(model)]
    assert names[0] == model.name
    assert {"encoder", "blocks", "attention", "query", "head"} <= set(names)


def test_a_stored_value_is_not_cast():
    class Layer(keras.layers.Layer):
        def build(self, _):
            self.weight = self.add_weight(shape=(1,))

        def call(self, x):
            given = [_private.stored_value(self.weight), x * self.weight]
            self.types = [keras.backend.standardize_dtype(y.dtype) for y in given]
            return x

    layer = Layer(dtype="mixed_bfloat16")
    layer(np.ones(1, "float32"))
    assert layer.types == ["float32", "bfloat16"]


@tensorflow
def test_adam_state_is_what_an_update_moves():
    variable = keras.Variable(np.ones(2, "float32"))
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build([keras.Variable(0.0), variable])
    index, momentum, velocity = _private.adam_state(optimizer, variable)
    gradients = [tf.zeros(()), tf.constant([1.0, 2.0])]
    optimizer.apply(gradients)
    assert index == 1
    np.testing.assert_allclose(momentum, 0.1 * gradients[1], rtol=1e-6)
    np.testing.assert_allclose(velocity, 0.001 * gradients[1] ** 2, rtol=1e-5)


@tensorflow
def test_a_model_is_built_from_the_batch_of_one_device():
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    _private.build_from_one_replica(model)
    batch = (tf.ones((3, 2)), tf.ones((3, 1)))
    model._maybe_symbolic_build(iterator=[(0, 1, iter([batch]))])
    assert model.optimizer.built


@tensorflow
def test_keras_clips_by_the_method_that_whole_gradients_overrides():
    seen = []

    class Seen(keras.optimizers.SGD):
        def _clip_gradients(self, grads):
            seen.extend(super()._clip_gradients(grads))
            return seen

    optimizer = Seen(1.0, global_clipnorm=1.0)
    optimizer.apply([tf.constant([3.0, 4.0])], [keras.Variable([0.0, 0.0])])
    np.testing.assert_allclose(seen, [[0.6, 0.8]], rtol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_compilation_with_xla_is_seen(compiled):
    seen = []

    @tf.function(jit_compile=compiled)
    def traced(x):
        seen.append(_private.compiles_with_xla())
        return x + 1

    traced(tf.constant(1.0))
    assert seen == [compiled]
    assert not _private.compiles_with_xla()


def test_sentencepiece_models_are_shared_by_name():
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    kinds = model.SentencePiece
    model.pieces.add(piece="<unk>", type=kinds.UNKNOWN)
    for piece in ("a", "b", "ab"):
        model.pieces.add(piece=piece, score=0.0, type=kinds.NORMAL)
    model.trainer_spec.model_type = model.trainer_spec.BPE
    model.normalizer_spec.add_dummy_prefix = False
    handle = _private.sentencepiece_op(model.SerializeToString(), "test_private")
    ids, splits = _private.sentencepiece_tokenize(handle, tf.constant(["ab", "ba"]))
    assert (ids.numpy().tolist(), splits.numpy().tolist()) == ([3, 2, 1], [0, 1, 3])


def test_a_resource_keeps_the_handle_that_it_is_given():
    resource = tf.saved_model.experimental.TrackableResource()
    handle = tf.Variable(1.0).handle
    _private.set_resource_handle(resource, handle)
    assert resource.resource_handle is handle


def test_no_other_file_uses_private_modules():
    pattern = re.compile(
        r"\b(keras\.src|tensorflow\.python|tensorflow_text\.python|jax\._src)\b"
        r"|pybinds|tensorflow\.lite\.(python|tools)"
    )
    found = [
        path.name
        for path in SOURCES.rglob("*.py")
        if path.name != "_private.py"
        and any(
            pattern.search(getattr(node, "module", None) or "")
            or any(pattern.search(x.name) for x in node.names)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, (ast.Import, ast.ImportFrom))
        )
    ]
    assert found == []


@tensorflow
def test_traced_gradients_are_forgotten_with_their_graph():
    @tf.custom_gradient
    def double(x):
        return 2 * x, lambda gradient: 5 * gradient

    def trace():
        def step(x):
            return tf.gradients(double(x), x)[0]

        traced = tf.function(step, autograph=False)
        assert traced(tf.constant(1.0)) == 5
        return traced, weakref.ref(traced.get_concrete_function(tf.constant(1.0)).graph)

    registered = gradient_registry.list()
    before = set(registered)
    with _private.without_traced_gradients():
        traced, graph = trace()
        with _private.without_traced_gradients():
            other, _ = trace()
        assert len(set(registered) - before) == 2  # still needed
    assert set(registered) == before
    assert traced(tf.constant(3.0)) == other(tf.constant(3.0)) == 5
    del traced
    gc.collect()
    assert graph() is None

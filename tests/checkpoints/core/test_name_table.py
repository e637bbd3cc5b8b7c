"""Tables of names, both ways, against what NumPy makes of the stored tensors."""

import keras
import numpy as np
import pytest

from keras_bert_lite.checkpoints.core.name_table import (
    TENSORFLOW,
    Fused,
    model_parts,
    targets,
)
from keras_bert_lite.checkpoints.core.tensors import TensorSource, fill
from tests import tiny

HEADS, HIDDEN = 4, 16
SIZE = HIDDEN // HEADS
ATTENTION = "blocks.{i}.attention."
PATHS = tuple(f"{ATTENTION}{x}.kernel" for x in ("query", "key", "value"))
STACKED = {"layers.{i}.Wqkv.weight": Fused(PATHS)}
BY_HEAD = {"layers.{i}.in_proj.weight": Fused(PATHS, by_head=True)}
BIASES = {
    "layers.{i}.in_proj.bias": Fused(
        tuple(path.replace("kernel", "bias") for path in PATHS), by_head=True
    )
}


class Arrays(TensorSource):
    """Tensors in memory."""

    def __init__(self, arrays):
        super().__init__("memory")
        self.arrays = arrays

    def names(self):
        return list(self.arrays)

    def shape(self, name):
        return self.arrays[name].shape

    def dtype(self, name):
        return "F32"

    def read(self, name):
        return self.arrays[name]


@pytest.fixture
def parts():
    return model_parts(tiny.encoder(num_heads=HEADS, hidden_dim=HIDDEN))


def random_arrays(found):
    random = np.random.default_rng(0)
    return {
        name: random.normal(size=target.stored_shape).astype("float32")
        for name, target in found.items()
    }


def projections(parts, i, attribute="kernel"):
    """Of query, key and value."""
    attention = parts["blocks"][i].attention
    layers = (attention.query, attention.key, attention.value)
    return [keras.ops.convert_to_numpy(getattr(x, attribute)) for x in layers]


def test_one_after_the_other(parts):
    found = targets(STACKED, parts)
    arrays = random_arrays(found)
    assert sorted(arrays) == ["layers.0.Wqkv.weight", "layers.1.Wqkv.weight"]
    fill(Arrays(arrays), found)
    for i in range(2):
        stored = arrays[f"layers.{i}.Wqkv.weight"]
        assert stored.shape == (3 * HIDDEN, HIDDEN)
        for kernel, expected in zip(
            projections(parts, i), np.split(stored, 3), strict=True
        ):
            np.testing.assert_array_equal(kernel, expected.T)


@pytest.mark.parametrize(
    ("table", "attribute"), [(BY_HEAD, "kernel"), (BIASES, "bias")]
)
def test_in_turn_for_each_head(parts, table, attribute):
    found = targets(table, parts)
    arrays = random_arrays(found)
    fill(Arrays(arrays), found)
    for i, stored in enumerate(arrays.values()):
        for place, value in enumerate(projections(parts, i, attribute)):
            for head in range(HEADS):
                start = (3 * head + place) * SIZE
                ours = value[..., head * SIZE : (head + 1) * SIZE]
                np.testing.assert_array_equal(ours, stored[start : start + SIZE].T)


@pytest.mark.parametrize("table", [STACKED, BY_HEAD, BIASES])
def test_round_trip_is_exact(parts, table):
    found = targets(table, parts)
    arrays = random_arrays(found)
    for array in arrays.values():
        array.flat[:4] = [np.nan, np.inf, -0.0, np.finfo(np.float32).tiny / 2]
    fill(Arrays(arrays), found)
    for name, target in found.items():
        read = target.read()
        assert read.shape == arrays[name].shape
        assert read.tobytes() == arrays[name].tobytes()


def test_two_parts_of_layers_of_any_width():
    """As in a gated feed-forward layer; columns need not be as many as rows."""
    gate, up = keras.layers.Dense(6), keras.layers.Dense(6)
    for layer in (gate, up):
        layer.build((None, 5))
    parts = {"blocks": [], "gate": gate, "up": up}
    found = targets({"mlp.Wi.weight": Fused(("gate.kernel", "up.kernel"))}, parts)
    stored = np.arange(60, dtype="float32").reshape(12, 5)
    fill(Arrays({"mlp.Wi.weight": stored}), found)
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(gate.kernel), stored[:6].T)
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(up.kernel), stored[6:].T)
    np.testing.assert_array_equal(found["mlp.Wi.weight"].read(), stored)


def test_single_tensors_of_other_names(parts):
    """Laid out as the variable's layer says, under the whole name of the row."""
    table = {
        "layers.{i}.q_bias": f"{ATTENTION}query.bias",
        "layers.{i}.q": f"{ATTENTION}query.kernel",
        "words": "embeddings.token_embedding.embeddings",
        "scale": "embeddings.layer_norm.gamma",
    }
    found = targets(table, parts)
    names = ("layers.0.q_bias", "layers.1.q_bias", "layers.0.q", "layers.1.q")
    assert set(found) == {*names, "words", "scale"}
    arrays = random_arrays(found)
    fill(Arrays(arrays), found)
    (kernel, *_), (bias, *_) = projections(parts, 1), projections(parts, 1, "bias")
    np.testing.assert_array_equal(kernel, arrays["layers.1.q"].T)
    np.testing.assert_array_equal(bias, arrays["layers.1.q_bias"])
    for name, target in found.items():
        np.testing.assert_array_equal(target.read(), arrays[name])
    (plain,) = targets({"q": "blocks.0.attention.query.kernel"}, parts, TENSORFLOW)
    assert plain == "q"


def test_every_shape_is_checked_before_any_variable_changes(parts):
    found = targets({**STACKED, "norm": "embeddings.layer_norm"}, parts)
    arrays = random_arrays(found)
    name = "layers.1.Wqkv.weight"
    for shape in ((2 * HIDDEN, HIDDEN), (HIDDEN, 3 * HIDDEN), (3, HIDDEN, HIDDEN)):
        before = [projections(parts, i) for i in range(2)]
        wrong = Arrays({**arrays, name: np.zeros(shape, "float32")})
        with pytest.raises(
            ValueError, match=r"'layers.1.Wqkv.weight' must have .*\(48"
        ):
            fill(wrong, found)
        for i in range(2):
            np.testing.assert_array_equal(projections(parts, i), before[i])


def test_what_a_model_does_not_have_is_passed_over(parts):
    table = {
        "a": Fused(("pooler.none.kernel", "absent.kernel")),
        "b": "absent.dense.bias",
        "c": f"{ATTENTION}position_key.bias",
        "d": "embeddings.projection",
    }
    assert targets(table, parts) == {}
    attention = parts["blocks"][0].attention
    for layer in (attention.query, attention.key, attention.value):
        layer.bias = None
    assert list(targets(BIASES, parts)) == ["layers.1.in_proj.bias"]


def test_rows_that_cannot_be(parts):
    some = ("embeddings.layer_norm.gamma", "embeddings.projection.kernel")
    with pytest.raises(ValueError, match="the model must have all of them or none"):
        targets({"x": Fused(some)}, parts)
    unequal = (
        "embeddings.layer_norm.gamma",
        "blocks.0.feed_forward.intermediate_dense.bias",
    )
    with pytest.raises(ValueError, match=r"'x': .* must have the same shape"):
        targets({"x": Fused(unequal)}, parts)
    with pytest.raises(ValueError, match="axis divisible by 5"):
        targets(BY_HEAD, {**parts, "num_heads": 5})
    with pytest.raises(TypeError, match="is not a stored variable of"):
        targets({"x": "embeddings.layer_norm.epsilon"}, parts)

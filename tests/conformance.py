"""What every layer must do, in the manner of Keras's own `run_layer_test`."""

import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from keras_bert_lite._private import sublayers as sublayers_of
from tests import fresh_process

# JAX would compile every operation on its own.
EAGERLY = keras.backend.backend() != "jax"
LEFT_OUT: tuple[str, ...] = ()  # of every layer; under `-m quick`, what takes seconds
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
# Adding a number to every score of a row leaves its softmax as it is.
WITHOUT_GRADIENT = ("key/bias",)
# For outputs of models: another process adds in another order, so that an input of an
# int8 product may be rounded to the next step. Exact outputs of tiny encoders differ by
# 0.008 or more.
INT8_STEP = 1e-3


def check_layer(
    make_layer: Callable[..., keras.layers.Layer],
    inputs: dict[str, np.ndarray],
    call: dict[str, Any] | None = None,
    without_gradient: tuple[str, ...] = WITHOUT_GRADIENT,
    leave_out: tuple[str, ...] = (),
) -> None:
    """Checks that a layer behaves as Keras expects of its own.

    Args:
        make_layer: Makes the layer; takes `dtype`, as every layer does.
        inputs: A value for each tensor argument of the layer's call, the first
            one first. Where there is a `padding_mask`, some of it is false.
        call: Further arguments of the call.
        without_gradient: Ends of the paths of weights that a loss cannot move.
        leave_out: Of `"policies"`, `"padding"`, `"xla"`, `"training"`, `"lora"`,
            `"int8"`: what means nothing to the layer, or has a test of its own.
    """
    call = call or {}
    leave_out += LEFT_OUT
    layer = make_layer()
    expected = apply(layer, inputs, call)
    check_config(layer, inputs, call, expected)
    check_symbolic(layer, inputs, call, expected)
    if "policies" not in leave_out:
        check_policies(make_layer, inputs, call)
    if "padding_mask" in inputs and "padding" not in leave_out:
        check_padding(layer, inputs, call, expected)
    model = one_layer_model(layer, inputs, call)
    check_clone(model, inputs)
    check_frozen(model)
    check_saved(model, inputs, expected)
    if "xla" not in leave_out:
        check_compiled(model, inputs, expected)
    if layer.trainable_weights and "training" not in leave_out:
        trainee = one_layer_model(make_layer(), inputs, call)
        check_training(trainee, inputs, without_gradient)
    if tables_and_kernels(layer) and "lora" not in leave_out:
        check_lora(one_layer_model(make_layer(), inputs, call), inputs)
    if tables_and_kernels(layer) and "int8" not in leave_out:
        check_quantized(one_layer_model(make_layer(), inputs, call), inputs)


def check_config(layer, inputs, call, expected) -> None:
    config = layer.get_config()
    twin = type(layer).from_config(config)
    assert twin.get_config() == config
    serialized = as_json(layer)
    revived = keras.saving.deserialize_keras_object(json.loads(serialized))
    assert as_json(revived) == serialized
    apply(revived, inputs, call)
    revived.set_weights(layer.get_weights())
    assert_all_close(apply(revived, inputs, call), expected)


def as_json(layer) -> str:
    """A layer as `.keras` files have it."""
    return json.dumps(keras.saving.serialize_keras_object(layer), sort_keys=True)


def check_symbolic(layer, inputs, call, expected) -> None:
    symbols = tree.map_structure(lambda x: keras.KerasTensor(x.shape, x.dtype), inputs)
    specs = layer.compute_output_spec(**symbols, **call)
    tree.assert_same_structure(specs, expected)
    for spec, value in zip(tree.flatten(specs), tree.flatten(expected), strict=True):
        assert spec.shape == tuple(value.shape)
        assert spec.dtype == dtype_of(value)
    if not call:
        shapes = {f"{name}_shape": shapes_of(x) for name, x in inputs.items()}
        got = layer.compute_output_shape(**shapes)
        assert got == tree.map_structure(lambda x: tuple(x.shape), expected)


def check_policies(make_layer, inputs, call) -> None:
    for policy in POLICIES:
        layer = make_layer(dtype=policy)
        outputs = apply(layer, inputs, call)
        dtype = layer.compute_dtype
        symbols = tree.map_structure(
            lambda x, dtype=dtype: keras.KerasTensor(
                x.shape, dtype if is_float(x) else x.dtype
            ),
            inputs,
        )
        specs = tree.flatten(layer.compute_output_spec(**symbols, **call))
        for spec, value in zip(specs, tree.flatten(outputs), strict=True):
            assert dtype_of(value) == spec.dtype
            assert not is_float(value) or spec.dtype == layer.compute_dtype
            assert np.all(np.isfinite(to_numpy(value)))
        assert {dtype_of(x) for x in layer.trainable_weights} <= {"float32"}


def check_padding(layer, inputs, call, expected) -> None:
    """Other values at padding positions must not change the real ones."""
    first = next(iter(inputs))
    real = inputs["padding_mask"]
    assert not real.all()
    changed = inputs[first].copy()
    changed[~real] = 100.0
    outputs = apply(layer, {**inputs, first: changed}, call)
    pairs = zip(tree.flatten(outputs), tree.flatten(expected), strict=True)
    for got, want in pairs:
        assert_all_close(real_rows(got, real), real_rows(want, real))


def check_clone(model, inputs) -> None:
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    assert clone.layers[-1].get_config() == model.layers[-1].get_config()
    assert_all_close(clone(inputs), model(inputs))


def check_frozen(model) -> None:
    for layer in model.layers:
        layer.trainable = False
    clone = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(model)
    )
    assert not clone.trainable_weights
    for layer in model.layers:
        layer.trainable = True


def check_saved(model, inputs, expected, again=True) -> None:
    """Another process loads the model, and so it does once saved again."""
    with tempfile.TemporaryDirectory() as directory:
        first, second = Path(directory) / "1.keras", Path(directory) / "2.keras"
        model.save(first)
        if again:
            keras.saving.load_model(first).save(second)
        for path in (first, second) if again else (first,):
            outputs = fresh_process.call_saved(path, inputs)
            assert_all_close(outputs, tree.flatten(expected))


def check_training(model, inputs, without_gradient) -> None:
    """One step moves every weight."""
    before = {x.path: to_numpy(x) for x in model.trainable_variables}
    fit(model, inputs)
    movable = [path for path in before if not path.endswith(without_gradient)]
    assert_changed(model.trainable_variables, before, movable)


def check_compiled(model, inputs, expected, tolerance: float = 1e-5) -> None:
    """The layer compiles: under XLA (TensorFlow, JAX), whose sums differ a little."""
    if keras.backend.backend() == "torch":
        return  # torch.compile needs a C++ compiler
    model.compile(jit_compile=True)
    assert_all_close(model.predict_on_batch(inputs), expected, tolerance)


def check_lora(model, inputs) -> None:
    """Fine-tunes the low-rank weights of every sublayer, and no other weight."""
    for variable in model.trainable_variables:
        variable.trainable = False
    for sublayer in tables_and_kernels(model):
        sublayer.enable_lora(2)
    assert all(x.name.startswith("lora_") for x in model.trainable_variables)
    before = {x.path: to_numpy(x) for x in model.variables}
    fit(model, inputs)
    changed = [path for path in before if "/lora_" in path and path.endswith("_b")]
    assert_changed(model.variables, before, changed)
    for variable in model.non_trainable_weights:
        assert np.array_equal(before[variable.path], to_numpy(variable))
    check_saved(model, inputs, model(inputs))


def check_quantized(model, inputs) -> None:
    expected = model(inputs)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*does not have a `quantize` method")
        model.quantize("int8")
    assert {x.quantization_mode for x in tables_and_kernels(model)} == {"int8"}
    outputs = model(inputs)
    assert_all_close(outputs, expected, tolerance=0.2)
    # Keras's Dense cannot be saved once loaded under a `DTypePolicyMap`: it
    # asks the map, not the map's entry, whether it is quantized (keras 3.15).
    check_saved(model, inputs, outputs, again=False)


def one_layer_model(layer, inputs, call=None) -> keras.Model:
    """A functional model of one layer, of any batch size and length."""
    symbols = {name: symbol(name, x) for name, x in inputs.items()}
    return keras.Model(symbols, apply(layer, symbols, call or {}))


def symbol(name: str, x) -> Any:
    """An input for an array, or those for a list of them."""
    if isinstance(x, list):
        return [symbol(f"{name}_{i}", y) for i, y in enumerate(x)]
    return keras.Input(free_shape(x), dtype=str(x.dtype), name=name)


def free_shape(x: np.ndarray) -> tuple[int | None, ...]:
    last = x.shape[-1] if is_float(x) else None
    return (*(None for _ in x.shape[1:-1]), last)


def fit(model, inputs) -> None:
    """Runs one training step towards random targets."""
    outputs = {f"y{i}": y for i, y in enumerate(tree.flatten(model.output))}
    trainee = keras.Model(model.input, outputs)
    generator = np.random.default_rng(2)  # not that of the inputs
    targets = {
        name: generator.normal(size=y.shape).astype("float32")
        for name, y in trainee(inputs).items()
    }
    losses = dict.fromkeys(outputs, "mean_squared_error")
    trainee.compile(keras.optimizers.Adam(0.01), loss=losses, run_eagerly=EAGERLY)
    assert np.all(np.isfinite(trainee.train_on_batch(inputs, targets)))


def tables_and_kernels(layer) -> list[keras.layers.Layer]:
    """The sublayers that know LoRA and quantization."""
    sublayers = sublayers_of(layer)
    kinds = (keras.layers.Dense, keras.layers.Embedding)
    return [x for x in sublayers if isinstance(x, kinds)]


def shapes_of(x) -> Any:
    """The shape of an array, or those of a list of them."""
    return [tuple(y.shape) for y in x] if isinstance(x, list) else x.shape


def apply(layer, inputs, call=None):
    """Calls a layer, its first input by position and the others by name."""
    (_, first), *rest = inputs.items()
    return layer(first, **dict(rest), **(call or {}))


def randomize(layer: keras.layers.Layer) -> None:
    """Gives every weight random values; fresh biases are zero and hide mistakes."""
    generator = np.random.default_rng(1)
    shapes = [x.shape for x in layer.get_weights()]
    layer.set_weights([generator.normal(scale=0.5, size=shape) for shape in shapes])


def real_rows(x, real: np.ndarray) -> np.ndarray:
    """What an output `(B, S, ...)`, `(B, N, S, S)` or `(B, H)` says of real rows."""
    x = to_numpy(x)
    if x.ndim == 4:
        x = np.moveaxis(x, 2, 1)
    return x[real] if x.ndim > 2 else x


def to_numpy(x) -> np.ndarray:
    if not isinstance(x, np.ndarray) and is_float(x):
        x = ops.cast(x, "float32")
    return ops.convert_to_numpy(x)


def dtype_of(x) -> str:
    return keras.backend.standardize_dtype(x.dtype)


def is_float(x) -> bool:
    return "float" in dtype_of(x)


def assert_changed(variables, before, paths) -> None:
    assert paths
    after = {x.path: to_numpy(x) for x in variables}
    assert not [path for path in paths if np.array_equal(after[path], before[path])]


def assert_all_close(got, want, tolerance: float = 1e-5) -> None:
    """Compares arrays, tensors, or structures of them."""
    for x, y in zip(tree.flatten(got), tree.flatten(want), strict=True):
        np.testing.assert_allclose(
            to_numpy(x), to_numpy(y), rtol=tolerance, atol=tolerance
        )

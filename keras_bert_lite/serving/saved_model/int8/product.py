"""A product of matrices in int8: the only place that knows the operation.

TensorFlow's builds with oneDNN have `_QuantizedMatMul`, which no Python function wraps
and no API promises; stock TF Serving has it from 2.17.1 on. It keeps the weights in
oneDNN's own order between calls and fuses what follows.
"""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert_lite.serving.saved_model.other_encoder import on_rows

OPERATION = "_QuantizedMatMul"
# What the operation calls the activations of `EncoderConfig`.
ACTIVATIONS = {"gelu": "GeluExact", "gelu_tanh": "GeluApproximate", "relu": "Relu"}
LARGEST = 127
# Processors without VNNI add the products of two neighbours in a column, of uint8 and
# int8, in int16, which must not overflow: 255 * 128 < 2 ** 15.
NEIGHBOURS = 128
TRIED = np.linspace(NEIGHBOURS // 2, LARGEST, 10)  # int8 values of a column's maximum


class Range(NamedTuple):
    """The least and the largest of numbers that are held in eight bits."""

    low: float
    high: float


class Product:
    """`activation(x W + b)` for rows x, with W in int8 and a scale per column.

    x is rounded to int8 by one scale, after each of its columns was divided by its
    smoothing factor, by which the row of W is multiplied.

    Args:
        kernel: W, `(K, N)`.
        bias: b, `(N,)`.
        inputs: The range of x, after smoothing.
        smoothing: The factors of the columns of x, `(K,)`; `None`: x comes smoothed.
        activation: A key of `ACTIVATIONS`, or `None`.
        outputs: If given, the result is uint8 over this range; `None`: it is
            float32.
        takes: `"float32"`, or `"uint8"` if x is such a result, of the range `inputs`.

    Call arguments:
        x: `(..., K)`.
        added: Floats of the shape of the result, to add to it.

    Output shape:
        `(..., N)`.

    Attributes:
        variables: W and b.
    """

    def __init__(
        self,
        kernel: np.ndarray,
        bias: np.ndarray,
        inputs: Range,
        smoothing: np.ndarray | None = None,
        activation: str | None = None,
        outputs: Range | None = None,
        takes: str = "float32",
    ) -> None:
        self._divisors = smoothing
        if smoothing is not None:
            kernel = kernel * smoothing[:, None]
        whole, scales = rounded(kernel)
        self._kernel = tf.Variable(whole.astype("int8"), trainable=False)
        self._bias = tf.Variable(bias.astype("float32"), trainable=False)
        self.variables = [self._kernel, self._bias]
        self._largest = (LARGEST * scales).astype("float32")
        self._activation = [] if activation is None else [ACTIVATIONS[activation]]
        self._inputs, self._outputs, self._takes = inputs, outputs, takes

    def __call__(self, x: tf.Tensor, added: tf.Tensor | None = None) -> tf.Tensor:
        width = self._kernel.shape[1]
        more = [] if added is None else [tf.reshape(added, [-1, width])]
        return on_rows(
            lambda rows: self._multiplied(self._eight_bits(rows), more), x, width
        )

    def _eight_bits(self, x: tf.Tensor) -> tf.Tensor:
        if self._takes == "uint8":
            return tf.bitcast(x, tf.quint8)
        if self._divisors is not None:
            x = x * (1 / self._divisors)
        options = {"T": tf.qint8, "mode": "SCALED", "narrow_range": True}
        low, high = self._inputs
        quantize = tf.raw_ops.QuantizeV2
        return quantize(input=x, min_range=low, max_range=high, **options)[0]

    def _multiplied(self, x: tf.Tensor, added: list[tf.Tensor]) -> tf.Tensor:
        fused = ["BiasAdd", *self._activation, *(["Add"] if added else [])]
        ranges = [*self._inputs, -self._largest, self._largest]
        outputs = [tf.float32]
        if self._outputs is not None:
            ranges += self._outputs
            outputs = [tf.quint8, tf.float32, tf.float32]  # and its range
        fused.append("Dequantize" if self._outputs is None else "Requantize")
        kernel = tf.bitcast(self._kernel, tf.qint8)
        tensors = [x, kernel, self._bias.read_value(), *added]
        operation = tf.compat.v1.get_default_graph().create_op(
            OPERATION,
            [*tensors, *(tf.constant(x, tf.float32) for x in ranges)],
            outputs,
            name="int8_product",  # a name may not begin as the operation's does
            attrs={
                "Tdevice_inputs": _types(x.dtype for x in tensors),
                "Thost_inputs": _types([tf.float32] * len(ranges)),
                "Tdevice_outputs": _types(outputs[:1]),
                "Thost_outputs": _types(outputs[1:]),
                "T1": _attribute(type=x.dtype.as_datatype_enum),
                "T2": _attribute(type=tf.qint8.as_datatype_enum),
                "Tout": _attribute(type=outputs[0].as_datatype_enum),
                "fused_ops": _list(s=[name.encode() for name in fused]),
                "input_quant_mode": _mode(self._takes == "uint8"),
                "output_quant_mode": _mode(self._outputs is not None),
            },
        )
        found = operation.outputs[0]
        return found if self._outputs is None else tf.bitcast(found, tf.uint8)


def rounded(kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns W as whole numbers, and the scale of each column, with the least errors.

    A finer scale rounds less, but clips more pairs of neighbours.
    """
    largest = np.maximum(np.abs(kernel).max(0), np.finfo("float32").tiny)
    found, scales, least = kernel, largest, np.inf
    for steps in TRIED:
        scale = largest / steps
        whole = _without_overflow(np.round(kernel / scale))
        errors = ((whole * scale - kernel) ** 2).sum(0)
        better = errors < least
        found, scales = np.where(better, whole, found), np.where(better, scale, scales)
        least = np.minimum(errors, least)
    return found, scales


def _without_overflow(whole: np.ndarray) -> np.ndarray:
    """Shrinks pairs in a column that would overflow, both by the same amount."""
    rows, columns = whole.shape
    pairs = np.pad(whole, [(0, rows % 2), (0, 0)]).reshape(-1, 2, columns)
    excess = np.abs(pairs).sum(1, keepdims=True) - NEIGHBOURS
    shrunk = np.abs(pairs) - np.ceil(np.maximum(excess, 0) / 2)
    return (np.sign(pairs) * shrunk).reshape(-1, columns)[:rows]


def check_kernel() -> None:
    """Raises an error unless this TensorFlow computes such a product correctly.

    Raises:
        NotImplementedError: If the operation is missing or gives another value.
    """
    kernel = np.array([[1.0, -2.0], [3.0, 4.0]], "float32")
    bias = np.array([0.5, -0.5], "float32")
    x = np.array([[1.0, 2.0], [-2.0, 1.0]], "float32")
    product = Product(kernel, bias, Range(-2.0, 2.0))
    try:
        found = tf.function(product, autograph=False)(tf.constant(x)).numpy()
    except (ValueError, tf.errors.OpError) as error:
        raise NotImplementedError(
            "`int8` needs TensorFlow's int8 products (oneDNN, x86-64); its other "
            f"exports do not. Received: {str(error).splitlines()[0]}"
        ) from error
    if not np.allclose(found, x @ kernel + bias, atol=0.1):
        raise NotImplementedError(
            f"`int8` needs TensorFlow's int8 products to be right. Received: {found}, "
            f"expected: {x @ kernel + bias}"
        )


def _attribute(**value: Any) -> tf.compat.v1.AttrValue:
    return tf.compat.v1.AttrValue(**value)


def _list(**values: Any) -> tf.compat.v1.AttrValue:
    return _attribute(list=tf.compat.v1.AttrValue.ListValue(**values))


def _types(types: Any) -> tf.compat.v1.AttrValue:
    return _list(type=[x.as_datatype_enum for x in types])


def _mode(asymmetric: bool) -> tf.compat.v1.AttrValue:
    return _attribute(s=b"MIN_FIRST" if asymmetric else b"SCALED")

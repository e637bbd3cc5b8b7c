"""Weights stored in fewer bits and used in float32."""

import uuid
from collections.abc import Iterable

import numpy as np

from keras_bert_lite._private import set_resource_handle
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice

STORAGES = ("float16", "bfloat16")


class Stored(tf.saved_model.experimental.TrackableResource):
    """A float32 variable that a SavedModel stores in fewer bits.

    Attach it to a module instead of the variable. Functions traced with the
    variable then use this resource in the SavedModel, which stores only the
    smaller copy. Loading, in Python or in a server, fills a float32 variable
    once, so predictions cost the same as with float32 storage. In Python, all loads
    of a SavedModel share these variables, which live as long as the process.

    Args:
        variable: A float32 variable.
        dtype: `"float16"`, `"bfloat16"`, or `"int8"`: a matrix, with a scale per row.

    Attributes:
        parts: The variables that are stored, whose product is the value.
    """

    def __init__(self, variable: tf.Variable, dtype: str) -> None:
        super().__init__()
        set_resource_handle(self, variable.handle)
        self.parts = [
            tf.Variable(x, trainable=False)
            for x in (
                _rounded_rows(variable.numpy())
                if dtype == "int8"
                else [tf.cast(variable, dtype)]
            )
        ]
        self._shape = variable.shape
        self._shared_name = f"stored_{uuid.uuid4().hex}"

    def _create_resource(self) -> tf.Tensor:
        return tf.raw_ops.VarHandleOp(
            dtype=tf.float32, shape=self._shape, shared_name=self._shared_name
        )

    def _initialize(self) -> None:
        value = tf.cast(self.parts[0], tf.float32)
        for factor in self.parts[1:]:
            value *= factor
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=value)


def _rounded_rows(matrix: np.ndarray) -> list[np.ndarray]:
    """Returns int8 and a scale per row."""
    largest = np.abs(matrix).max(1, keepdims=True, initial=0.0)
    scales = np.maximum(largest, np.finfo("float32").tiny) / 127
    return [np.round(matrix / scales).astype("int8"), scales.astype("float32")]


def half_stored(
    variables: Iterable[tf.Variable], dtype: str
) -> list[tf.Variable | Stored]:
    """Returns the objects that a SavedModel tracks instead of a model's variables.

    Matrices and embeddings are stored in half precision. Vectors and integers,
    which take little space, are kept.

    Args:
        variables: The variables that the signatures use.
        dtype: `"float16"` (11 bits of precision) or `"bfloat16"` (8 bits, with
            the range of float32).

    Returns:
        Objects to attach to the module before `tf.saved_model.save`: the
        unchanged variables and, for each halved one, its resource and the stored
        copy.

    Raises:
        ValueError: If `dtype` is not one of these, or a weight exceeds its range.
    """
    check_choice("dtype", dtype, STORAGES)
    halved: list[tf.Variable | Stored] = []
    for variable in variables:
        if variable.dtype != tf.float32 or variable.shape.rank < 2:
            halved.append(variable)
            continue
        _check_range(variable, dtype)
        halved += in_parts(variable, dtype)
    return halved


def in_parts(variable: tf.Variable, dtype: str) -> list[tf.Variable | Stored]:
    """Returns what a SavedModel tracks instead of a variable; see `Stored`."""
    resource = Stored(variable, dtype)
    return [resource, *resource.parts]


def _check_range(variable: tf.Variable, dtype: str) -> None:
    largest = np.abs(variable.numpy()).max(initial=0.0)
    if np.isfinite(largest) and largest > tf.as_dtype(dtype).max:
        raise ValueError(
            f"`dtype` {dtype!r} holds numbers up to {float(tf.as_dtype(dtype).max):g}. "
            f"Received: {variable.name} with {largest:g}. Use 'bfloat16'."
        )

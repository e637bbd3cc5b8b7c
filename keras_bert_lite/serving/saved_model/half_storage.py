"""Weights stored in half precision and used in float32."""

import uuid
from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from keras_bert_lite._private import SharedResource
from keras_bert_lite.checks import check_choice

STORAGES = ("float16", "bfloat16")


class HalfStored(SharedResource):
    """A float32 variable that a SavedModel stores in half precision.

    Attach it to a module instead of the variable. Functions traced with the
    variable then use this resource in the SavedModel, which stores only the
    half-precision copy. Loading, in Python or in a server, fills a float32 variable
    once, so predictions cost the same as with float32 storage. In Python, all loads
    of a SavedModel share these variables, which live as long as the process.

    Args:
        variable: A float32 variable.
        dtype: `"float16"` or `"bfloat16"`.
    """

    def __init__(self, variable: tf.Variable, dtype: str) -> None:
        super().__init__(variable.handle)
        self.stored = tf.Variable(tf.cast(variable, dtype), trainable=False)
        self._shape = variable.shape
        self._shared_name = f"half_stored_{uuid.uuid4().hex}"

    def _create_resource(self) -> tf.Tensor:
        return tf.raw_ops.VarHandleOp(
            dtype=tf.float32, shape=self._shape, shared_name=self._shared_name
        )

    def _initialize(self) -> None:
        value = tf.cast(self.stored, tf.float32)
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=value)


def half_stored(
    variables: Iterable[tf.Variable], dtype: str
) -> list[tf.Variable | HalfStored]:
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
    halved: list[tf.Variable | HalfStored] = []
    for variable in variables:
        if variable.dtype != tf.float32 or variable.shape.rank < 2:
            halved.append(variable)
            continue
        _check_range(variable, dtype)
        resource = HalfStored(variable, dtype)
        halved += [resource, resource.stored]
    return halved


def _check_range(variable: tf.Variable, dtype: str) -> None:
    largest = np.abs(variable.numpy()).max(initial=0.0)
    if np.isfinite(largest) and largest > tf.as_dtype(dtype).max:
        raise ValueError(
            f"`dtype` {dtype!r} holds numbers up to {float(tf.as_dtype(dtype).max):g}. "
            f"Received: {variable.name} with {largest:g}. Use 'bfloat16'."
        )

"""Conversion between arrays and TensorFlow Serving's protocol buffers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf


def by_name(inputs: Any) -> Mapping[str, Any]:
    """Returns the inputs by name; a plain list becomes the input `text`."""
    if isinstance(inputs, Mapping):
        return inputs
    if isinstance(inputs, (list, tuple, np.ndarray)):
        return {"text": inputs}
    raise TypeError(
        "`inputs` must be a list of strings or a dictionary of inputs by name. "
        f"Received: {inputs!r}"
    )


def as_proto(name: str, value: Any) -> Any:
    """Converts strings, or an array with its own dtype, to a TensorProto."""
    # Use objects: numpy's string dtypes drop trailing NULs, and store every row at
    # the length of the longest.
    array = np.asarray(value, object if isinstance(value, (list, tuple)) else None)
    numbers = array.dtype.kind not in "OSU"
    strings = [] if numbers else [isinstance(x, (str, bytes)) for x in array.flat]
    if array.ndim == 0 or (any(strings) and not all(strings)):
        raise TypeError(
            f"`inputs[{name!r}]` must be a list of strings or an array with a batch "
            f"axis. Received: {value!r}"
        )
    try:
        if numbers or not all(strings):
            return tf.make_tensor_proto(array if numbers else value)
        return tf.make_tensor_proto(array, tf.string)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`inputs[{name!r}]` cannot be sent: {error}") from error


def as_array(proto: Any) -> np.ndarray:
    """Converts a TensorProto to an array, with strings as `str`."""
    array = tf.make_ndarray(proto)
    if array.dtype != object:
        return array
    texts = [x.decode("utf-8", "replace") for x in array.flat]
    return np.array(texts, object).reshape(array.shape)

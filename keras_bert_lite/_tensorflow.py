"""TensorFlow and TensorFlow Text, which are imported when they are first used.

Strings, `tf.data` and serving need TensorFlow under every backend; layers, models on
ids and checkpoints need it under its own only. Modules take `tf` from here, and none
computes with it while it is imported: under JAX and torch, the package then works
without TensorFlow. Types in signatures count as such computation, unless the module
says `from __future__ import annotations`. A module that cannot do without, such as one
whose classes inherit from TensorFlow's, is imported within the functions that use it.
"""

import functools
import importlib
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras


class LazyModule:
    """A module that is imported when one of its names is first used.

    Args:
        name: The module's name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        # Python itself looks for names such as `__wrapped__` in all that it meets.
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        check_tensorflow("This", self._name.split(".")[0])
        from keras_bert_lite import _legacy_keras  # noqa: F401

        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value


def check_tensorflow(what: str, package: str = "tensorflow") -> None:
    """Raises `ImportError` if a package of TensorFlow's is not installed.

    Args:
        what: What needs it, for the message.
        package: `"tensorflow"` or `"tensorflow_text"`.
    """
    if not is_installed(package):
        raise ImportError(
            f"{what} needs TensorFlow and TensorFlow Text: `pip install tensorflow "
            f"tensorflow-text`. Not installed: {package}"
        )


def is_installed(package: str = "tensorflow") -> bool:
    return importlib.util.find_spec(package) is not None


if TYPE_CHECKING or keras.backend.backend() == "tensorflow":
    from keras_bert_lite import _legacy_keras  # noqa: F401  before tensorflow_text

    # isort: split

    import tensorflow as tf
    import tensorflow_text as tf_text
    from tensorflow.core.framework import (
        attr_value_pb2,
        graph_pb2,
        node_def_pb2,
        types_pb2,
    )
    from tensorflow.core.protobuf import (
        meta_graph_pb2,
        saved_model_pb2,
        trackable_object_graph_pb2,
    )
else:
    tf = LazyModule("tensorflow")
    tf_text = LazyModule("tensorflow_text")
    attr_value_pb2 = LazyModule("tensorflow.core.framework.attr_value_pb2")
    graph_pb2 = LazyModule("tensorflow.core.framework.graph_pb2")
    node_def_pb2 = LazyModule("tensorflow.core.framework.node_def_pb2")
    types_pb2 = LazyModule("tensorflow.core.framework.types_pb2")
    meta_graph_pb2 = LazyModule("tensorflow.core.protobuf.meta_graph_pb2")
    saved_model_pb2 = LazyModule("tensorflow.core.protobuf.saved_model_pb2")
    trackable_object_graph_pb2 = LazyModule(
        "tensorflow.core.protobuf.trackable_object_graph_pb2"
    )


def without_autograph(function: Callable) -> Callable:
    """Decorates a function that AutoGraph is not to convert.

    Converting takes longer than tracing.
    """
    if not isinstance(tf, LazyModule):
        return tf.autograph.experimental.do_not_convert(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return tf.autograph.experimental.do_not_convert(function)(*args, **kwargs)

    return call

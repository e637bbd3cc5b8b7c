"""Keras's global dtype policy, set for a while."""

import contextlib
from collections.abc import Iterator

import keras


@contextlib.contextmanager
def dtype_policy(policy: str | keras.DTypePolicy) -> Iterator[None]:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)

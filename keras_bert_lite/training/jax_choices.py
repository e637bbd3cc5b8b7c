"""Choices of a run that only the JAX backend has."""

from typing import Any

import keras

from keras_bert_lite._private import sublayers


def layers_to_set(
    model: keras.Model, choice: bool, kind: type, why: str, what: str
) -> list[Any]:
    """Returns the layers of a kind in a model, on which a choice is to be set.

    Args:
        model, choice: The arguments of the public function.
        kind: The class of the layers.
        why: Why the choice needs JAX, for the message.
        what: What a model without such layers lacks.

    Raises:
        TypeError: If `choice` is not a boolean.
        NotImplementedError: If it is true and the backend is not JAX.
        ValueError: If the model has no such layers.
    """
    if not isinstance(choice, bool):
        raise TypeError(f"`choice` must be True or False. Received: {choice!r}")
    backend = keras.backend.backend()
    if choice and backend != "jax":
        raise NotImplementedError(
            f"`choice=True` needs the JAX backend{why}. Received: True, under {backend}"
        )
    found = [x for x in sublayers(model) if isinstance(x, kind)]
    if not found:
        raise ValueError(f"`model` must have {what}. Received: {model!r}")
    return found

"""Models that take the vectors of tokens in place of looking them up."""

from typing import Any

import keras

from keras_bert_lite.models.encoder_model import (
    connect_layers,
    encoder_layers,
    encoder_of,
)


def from_vectors(model: keras.Model) -> keras.Model:
    """Returns a model with the same layers that does not look tokens up.

    Args:
        model: A task's model on token ids, which contains an encoder as a model.

    Returns:
        A functional model with the outputs of `model` and two inputs: those of
        `model`, and vectors `(R, S, E)`, which enter the encoder's embeddings in
        place of the token embeddings of its R rows, of width E. The ids are still
        there because positions may depend on them.

    Raises:
        ValueError: If the model contains no encoder as a model.
    """
    encoder = encoder_of(model)
    given: list[Any] = []

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        if layer is not encoder:
            return layer(*args, **kwargs)
        inputs, parts = args[0], encoder_layers(encoder)
        given.append(parts[0].token_vectors(inputs["token_ids"]))
        return connect_layers(inputs, *parts, vectors=given[0])

    # A new model, for a clone of a compiled one would compile itself too.
    again = keras.models.clone_model(
        keras.Model(model.input, model.output),
        call_function=call,
        clone_function=lambda layer: layer,
    )
    if not given:
        raise ValueError(
            "`model` must contain its encoder as a model, as those of tasks about "
            f"texts do. Received: {model.name!r}"
        )
    # What comes before the vectors, the lookup, is not part of it.
    return keras.Model([again.input, *given], again.output, name=model.name)

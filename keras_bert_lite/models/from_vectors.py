"""Models that take the vectors of tokens in place of looking them up."""

from typing import Any

import keras

from keras_bert_lite.models.encoder_model import (
    connect_above,
    encoder_layers,
    encoder_of,
    position_inputs,
)


class _Finish(keras.layers.Layer):
    """What embeddings do once tokens are looked up; see `layers.Embeddings`."""

    def __init__(self, embeddings: Any) -> None:
        super().__init__(dtype=embeddings.dtype_policy)
        self.embeddings = embeddings
        self.built = True

    def call(
        self, x: Any, token_ids: Any, segment_ids: Any = None, position_ids: Any = None
    ) -> Any:
        width = self.embeddings.width
        if len(x.shape) != 3 or x.shape[-1] != width:
            raise ValueError(
                f"The vectors must have the shape (batch, sequence, {width}). "
                f"Received: {tuple(x.shape)}"
            )
        return self.embeddings.finish(x, token_ids, segment_ids, position_ids)

    def compute_output_spec(self, x: Any, token_ids: Any, *_: Any, **__: Any) -> Any:
        return self.embeddings.compute_output_spec(token_ids)


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
    vectors: list[Any] = []

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        if layer is not encoder:
            return layer(*args, **kwargs)
        inputs, (embeddings, blocks, pooler) = args[0], encoder_layers(encoder)
        vectors.append(embeddings.token_vectors(inputs["token_ids"]))
        x = _Finish(embeddings)(
            vectors[0], inputs["token_ids"], **position_inputs(inputs)
        )
        return connect_above(inputs, x, blocks, pooler)

    # A new model, for a clone of a compiled one would compile itself too.
    again = keras.models.clone_model(
        keras.Model(model.input, model.output),
        call_function=call,
        clone_function=lambda layer: layer,
    )
    if not vectors:
        raise ValueError(
            "`model` must contain its encoder as a model, as those of tasks about "
            f"texts do. Received: {model.name!r}"
        )
    # What comes before the vectors, the lookup, is not part of it.
    return keras.Model([again.input, *vectors], again.output, name=model.name)

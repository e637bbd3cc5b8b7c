"""From a generator's scores to a discriminator's input, and its output."""

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ReplaceTokens(keras.layers.Layer):
    """Puts pieces drawn from a generator's scores where tokens are masked.

    No gradient goes through it.

    Args:
        seed: Of the draws.

    Call arguments:
        token_ids: Integers `(B, S)`.
        positions: Integers `(B, P)`; those that are 0 count for nothing: the
            first token of a row is a special one, which is never masked.
        logits: Floats `(B, P, V)`.

    Output shape:
        `(B, S)`, of the dtype of `token_ids`.

    Reference: [Clark et al., 2020](https://arxiv.org/abs/2003.10555), section 2.
    """

    def __init__(self, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, token_ids, positions, logits):
        scores = ops.stop_gradient(ops.cast(logits, "float32"))
        flat = ops.reshape(scores, (-1, scores.shape[-1]))
        drawn = keras.random.categorical(flat, 1, seed=self.seed_generator)
        drawn = ops.reshape(ops.cast(drawn, token_ids.dtype), ops.shape(positions))
        # Of positions that are 0 each writes what is there already.
        drawn = ops.where(positions > 0, drawn, token_ids[:, :1])
        rows = ops.arange(ops.shape(token_ids)[0], dtype=positions.dtype)[:, None]
        places = ops.stack([ops.broadcast_to(rows, ops.shape(positions)), positions], 2)
        places = ops.reshape(places, (-1, 2))
        return ops.scatter_update(token_ids, places, ops.reshape(drawn, (-1,)))

    def compute_output_spec(self, token_ids, positions, logits):
        return keras.KerasTensor(token_ids.shape, dtype=token_ids.dtype)

    def compute_output_shape(self, token_ids_shape, positions_shape, logits_shape):
        return token_ids_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "seed": self.seed}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class WithSeenTokens(keras.layers.Layer):
    """Puts the tokens that a discriminator saw beside its scores.

    What was replaced is known from them and from the original tokens, which are
    the targets: `losses.ReplacedTokenLoss` compares them.

    Call arguments:
        logits: Floats `(B, S)`.
        token_ids: Integers `(B, S)`, below 2^24.

    Output shape:
        `(B, S, 2)` float32: the score, the id.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "dtype": "float32"})

    def call(self, logits, token_ids):
        return ops.stack([logits, ops.cast(token_ids, "float32")], axis=-1)

    def compute_output_spec(self, logits, token_ids):
        return keras.KerasTensor((*logits.shape, 2), dtype="float32")

    def compute_output_shape(self, logits_shape, token_ids_shape):
        return (*logits_shape, 2)

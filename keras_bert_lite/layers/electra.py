"""Layers between ELECTRA's generator and discriminator."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_choice
from keras_bert_lite.layer_config import config_of_part
from keras_bert_lite.layers.base import CompositeLayer, part_of
from keras_bert_lite.layers.embeddings import Embeddings


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ReplaceTokens(keras.layers.Layer):
    """Replaces masked tokens by samples from a generator's scores.

    It has no gradient.

    Args:
        seed: Seed of the samples.

    Call arguments:
        token_ids: Integers `(B, S)`.
        positions: Integers `(B, P)`. Positions 0 are padding, because the first
            token of a row is special and never masked.
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
        # Positions 0 write the token that is already there.
        drawn = ops.where(positions > 0, drawn, token_ids[:, :1])
        rows = ops.arange(ops.shape(token_ids)[0], dtype=positions.dtype)[:, None]
        cells = ops.stack([ops.broadcast_to(rows, ops.shape(positions)), positions], 2)
        cells = ops.reshape(cells, (-1, 2))
        return ops.scatter_update(token_ids, cells, ops.reshape(drawn, (-1,)))

    def compute_output_spec(self, token_ids, positions, logits):
        return keras.KerasTensor(token_ids.shape, dtype=token_ids.dtype)

    def compute_output_shape(self, token_ids_shape, positions_shape, logits_shape):
        return token_ids_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "seed": self.seed}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class AppendTokenIds(keras.layers.Layer):
    """Appends the input tokens of a discriminator to its scores.

    `losses.ReplacedTokenLoss` compares them with the original tokens, the targets, to
    find the replaced ones.

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

    def compute_mask(self, logits, previous_mask):
        return None

    def compute_output_spec(self, logits, token_ids):
        return keras.KerasTensor((*logits.shape, 2), dtype="float32")

    def compute_output_shape(self, logits_shape, token_ids_shape):
        return (*logits_shape, 2)


SIDES = ("generator", "discriminator")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class GradientDisentangledEmbeddings(CompositeLayer):
    """Gradient-disentangled embeddings of a generator and a discriminator.

    A token's vector is E for the generator and `stop_gradient(E) + D` for the
    discriminator, whose loss therefore only changes D. Each side has its own segments,
    positions, normalization and projection.

    Args:
        generator: The generator's `Embeddings`.
        discriminator: The discriminator's; its token embeddings are D.

    Call arguments:
        token_ids, segment_ids, position_ids: See `Embeddings`.
        return_table: Whether to return E too.
        side: One of `SIDES`.

    Output shape:
        The output of that side's `Embeddings`.

    Raises:
        ValueError: If `side` is unknown.

    Reference: [He et al., 2021](https://arxiv.org/abs/2111.09543), section 3.3.
    """

    def __init__(
        self,
        generator: Embeddings | dict[str, Any],
        discriminator: Embeddings | dict[str, Any],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.generator: Any = part_of(generator, Embeddings, "generator")
        self.discriminator: Any = part_of(discriminator, Embeddings, "discriminator")
        for name in SIDES:
            if getattr(self, name) is None:
                raise TypeError(f"`{name}` must be an `Embeddings`. Received: None")

    def build(self, token_ids_shape, segment_ids_shape=None, position_ids_shape=None):
        self.generator.build(token_ids_shape)
        self.discriminator.build(token_ids_shape)

    def call(
        self,
        token_ids,
        segment_ids=None,
        position_ids=None,
        return_table=False,
        side="discriminator",
        training=None,
    ):
        check_choice("side", side, SIDES)
        others = {"segment_ids": segment_ids, "position_ids": position_ids}
        if side == "generator":
            x = self.generator(token_ids, **others, training=training)
        else:
            base = ops.stop_gradient(self.generator.token_vectors(token_ids))
            x = base + self.discriminator.token_vectors(token_ids)
            x = self.discriminator.finish(x, token_ids, **others, training=training)
        return (x, self.generator.table()) if return_table else x

    def compute_output_spec(
        self, token_ids, *_, return_table=False, side=SIDES[1], **__
    ):
        check_choice("side", side, SIDES)
        output = getattr(self, side).compute_output_spec(token_ids)
        if not return_table:
            return output
        return output, self.generator.compute_output_spec(token_ids, return_table=True)[
            1
        ]

    def compute_output_shape(self, token_ids_shape, *_, **__):
        return self.discriminator.compute_output_shape(token_ids_shape)

    def get_config(self) -> dict[str, Any]:
        sides = {name: config_of_part(getattr(self, name)) for name in SIDES}
        return {**super().get_config(), **sides}

"""Embeddings that a generator and a discriminator share without tug-of-war."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.config import EncoderConfig, check_choice
from keras_bert_lite.layers.base import CompositeLayer
from keras_bert_lite.layers.embeddings import Embeddings

SIDES = ("generator", "discriminator")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class GradientDisentangledEmbeddings(CompositeLayer):
    """The embeddings of a generator, and of a discriminator that adds to them.

    A token's vector is E for the generator and `stop_gradient(E) + D` for the
    discriminator, whose loss so changes D alone. Segments, positions,
    normalization and projection are each side's own.

    Args:
        generator: The generator's `EncoderConfig`, or its dictionary.
        discriminator: The discriminator's, whose token table is D.

    Call arguments:
        token_ids, segment_ids, position_ids, reverse: See `Embeddings`; vectors
            are scored against E.
        side: One of `SIDES`.

    Output shape:
        As that side's `Embeddings`.

    Raises:
        ValueError: For another side.

    Reference: [He et al., 2021](https://arxiv.org/abs/2111.09543), section 3.3.
    """

    def __init__(
        self,
        generator: EncoderConfig | dict[str, Any],
        discriminator: EncoderConfig | dict[str, Any],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.generator = self._side(generator, "generator")
        self.discriminator = self._side(discriminator, "discriminator")

    def _side(self, config: EncoderConfig | dict[str, Any], name: str) -> Embeddings:
        return Embeddings(
            config, name=name, dtype=self.dtype_policy, trainable=self.trainable
        )

    def build(self, token_ids_shape, segment_ids_shape=None, position_ids_shape=None):
        self.generator.build(token_ids_shape)
        self.discriminator.build(token_ids_shape)

    def call(
        self,
        token_ids,
        segment_ids=None,
        position_ids=None,
        reverse=False,
        side="discriminator",
        training=None,
    ):
        check_choice("side", side, SIDES)
        if reverse:
            return self.generator(token_ids, reverse=True)
        places = {"segment_ids": segment_ids, "position_ids": position_ids}
        if side == "generator":
            return self.generator(token_ids, **places, training=training)
        base = ops.stop_gradient(self.generator.token_vectors(token_ids))
        x = base + self.discriminator.token_vectors(token_ids)
        return self.discriminator.finish(x, token_ids, **places, training=training)

    def compute_output_spec(self, token_ids, *_, reverse=False, side=SIDES[1], **__):
        check_choice("side", side, SIDES)
        layer = self.generator if side == "generator" or reverse else self.discriminator
        return layer.compute_output_spec(token_ids, reverse=reverse)

    def compute_output_shape(self, token_ids_shape, *_, **__):
        return self.discriminator.compute_output_shape(token_ids_shape)

    def get_config(self) -> dict[str, Any]:
        sides = (self.generator, self.discriminator)
        return {
            **super().get_config(),
            **{x.name: x.config.to_dict() for x in sides},
        }

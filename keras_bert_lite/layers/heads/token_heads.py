"""Heads with one or two scores per token."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.layers.base import padding_mask_of
from keras_bert_lite.layers.heads.dense_heads import DenseHead

PADDING_SCORE = -1e4


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class SpanHead(DenseHead):
    """Scores each token as the start and the end of a span.

    Args:
        dropout, initializer_range: See `DenseHead`.

    Call arguments:
        x: Floats of shape `(B, S, H)`.
        padding_mask: Booleans of shape `(B, S)`, true at real positions. `None`: the
            Keras mask of `x`; without one, all are real.

    Output shape:
        A dictionary of `start_logits` and `end_logits`, `(B, S)` each. They are -10,000
        at padding, so that it has no probability.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 4.2.
    """

    def __init__(self, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(2, dropout, **kwargs)

    def build(self, x_shape, padding_mask_shape=None):
        super().build(x_shape)

    # The mask comes second, as in other layers.
    def call(self, x, padding_mask=None, training=None):  # type: ignore[override]
        scores = super().call(x, training=training)
        padding_mask = padding_mask_of(x, padding_mask)
        if padding_mask is not None:
            real = ops.cast(padding_mask, "bool")[:, :, None]
            scores = ops.where(real, scores, ops.cast(PADDING_SCORE, scores.dtype))
        return {"start_logits": scores[..., 0], "end_logits": scores[..., 1]}

    def compute_mask(self, x, previous_mask):
        """Returns `None`: the scores at padding say that it is padding."""
        return None

    def compute_output_shape(self, x_shape, padding_mask_shape=None):
        return {"start_logits": x_shape[:-1], "end_logits": x_shape[:-1]}

    def get_config(self) -> dict[str, Any]:
        return _without_units(super().get_config())


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ReplacedTokenHead(DenseHead):
    """Scores whether each token was replaced (ELECTRA's discriminator).

    Args:
        dropout, hidden_activation, initializer_range: See `DenseHead`.

    Call arguments:
        x: Floats of shape `(B, S, H)`.

    Output shape:
        `(B, S)`; above 0 means replaced.

    Reference: [Clark et al., 2020](https://arxiv.org/abs/2003.10555), section 2.
    """

    def __init__(self, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(1, dropout, **kwargs)

    def call(self, x, training=None):
        return super().call(x, training=training)[..., 0]

    def compute_output_shape(self, x_shape):
        return x_shape[:-1]

    def get_config(self) -> dict[str, Any]:
        return _without_units(super().get_config())


def _without_units(config: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != "units"}

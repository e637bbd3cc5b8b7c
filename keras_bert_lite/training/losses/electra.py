"""The loss of ELECTRA's discriminator."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ReplacedTokenLoss(keras.losses.Loss):
    """Binary cross-entropy of "this token was replaced", averaged over real tokens.

    Args:
        reduction: See `keras.losses.Loss`; by default the weighted sum over the
            tokens, divided by the sum of their weights.
        name: Name of the loss.

    Call arguments:
        y_true: The original tokens, `(B, S)`.
        y_pred: `replaced_logits` of an `electra_pretrainer`, `(B, S, 2)`.
        sample_weight: `(B, S)`, 0 at padding.

    Reference: [Clark et al., 2020](https://arxiv.org/abs/2003.10555), section 2.
    """

    def __init__(
        self,
        reduction: str | None = "mean_with_sample_weight",
        name: str = "replaced_token_loss",
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype="float32")

    def call(self, y_true, y_pred):
        replaced = ops.cast(was_replaced(y_true, y_pred), "float32")
        return ops.binary_crossentropy(replaced, y_pred[..., 0], from_logits=True)


def was_replaced(y_true, y_pred):
    """Returns where the input token is not the original one, (B, S) bool."""
    return ops.not_equal(ops.cast(y_true, "float32"), y_pred[..., 1])

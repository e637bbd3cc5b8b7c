"""Perplexity of language models."""

import keras
from keras import ops

from keras_bert_lite.training.word_scores import cross_entropy, update_mean


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Perplexity(keras.metrics.SparseCategoricalCrossentropy):
    """The exponential of the mean cross-entropy of the targets.

    For a masked language model, the targets are the chosen tokens, also those that
    are not replaced by `[MASK]`. Perplexities for different vocabularies or masks
    are not comparable.

    Args:
        from_logits: Whether predictions are logits.
        name, **kwargs: See `keras.metrics.SparseCategoricalCrossentropy`.
    """

    def __init__(self, name: str = "perplexity", from_logits: bool = True, **kwargs):
        super().__init__(name=name, from_logits=from_logits, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        ignores = getattr(self, "ignore_class", None) is not None  # since Keras 3.14
        if not self.from_logits or ignores or self.axis != -1:
            return super().update_state(y_true, y_pred, sample_weight)
        # What the loss computes too, so that a compiler computes it once.
        values = cross_entropy(y_true, y_pred)
        return update_mean(self, values, sample_weight)

    def result(self):
        return ops.exp(super().result())

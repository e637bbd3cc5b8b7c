"""Perplexity of language models."""

import keras
from keras import ops


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

    def result(self):
        return ops.exp(super().result())

"""How many words a language model wavers between."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Perplexity(keras.metrics.SparseCategoricalCrossentropy):
    """The exponential of the mean cross-entropy of the targets.

    Of a masked language model: over the masked tokens, whatever stands in their
    place; perplexities of other vocabularies or other masks do not compare.

    Args:
        from_logits: Whether predictions are logits.
        name, **kwargs: See `keras.metrics.SparseCategoricalCrossentropy`.
    """

    def __init__(self, name: str = "perplexity", from_logits: bool = True, **kwargs):
        super().__init__(name=name, from_logits=from_logits, **kwargs)

    def result(self):
        return ops.exp(super().result())

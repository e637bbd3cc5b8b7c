"""Losses that Keras does not have.

For labels of tokens without a `CRF`,
`keras.losses.SparseCategoricalCrossentropy(from_logits=True,
reduction="mean_with_sample_weight")` is the mean over the positions whose sample
weight is not 0, and 0 where there are none.
"""

from keras_bert_lite.training.losses.crf import CRFLoss
from keras_bert_lite.training.losses.electra import ReplacedTokenLoss
from keras_bert_lite.training.losses.sentence_pairs import (
    CosineSimilarityLoss,
    InBatchNegativesLoss,
    TripletLoss,
)

__all__ = [
    "CRFLoss",
    "CosineSimilarityLoss",
    "InBatchNegativesLoss",
    "ReplacedTokenLoss",
    "TripletLoss",
]

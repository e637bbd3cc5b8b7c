"""Losses that Keras does not have."""

from keras_bert_lite.training.losses import (
    CosineSimilarityLoss,
    CRFLoss,
    InBatchNegativesLoss,
    ReplacedTokenLoss,
    TripletLoss,
)

__all__ = [
    "CRFLoss",
    "CosineSimilarityLoss",
    "InBatchNegativesLoss",
    "ReplacedTokenLoss",
    "TripletLoss",
]

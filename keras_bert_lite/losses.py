"""Losses of the tasks that Keras has none for."""

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

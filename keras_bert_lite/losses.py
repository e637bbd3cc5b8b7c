"""Losses that Keras does not have."""

from keras_bert_lite.training.losses import (
    ContrastiveLoss,
    CoSENTLoss,
    CosineSimilarityLoss,
    CRFLoss,
    InBatchNegativesLoss,
    MarginMSELoss,
    MatryoshkaLoss,
    ReplacedTokenLoss,
    TripletLoss,
)

__all__ = [
    "CRFLoss",
    "CoSENTLoss",
    "ContrastiveLoss",
    "CosineSimilarityLoss",
    "InBatchNegativesLoss",
    "MarginMSELoss",
    "MatryoshkaLoss",
    "ReplacedTokenLoss",
    "TripletLoss",
]

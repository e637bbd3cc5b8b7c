"""Losses that Keras does not have."""

from keras_bert_lite.training.losses import (
    ContrastiveLoss,
    CoSENTLoss,
    CosineSimilarityLoss,
    CRFLoss,
    InBatchNegativesLoss,
    LambdaLoss,
    ListNetLoss,
    MarginMSELoss,
    MatryoshkaLoss,
    PointwiseLoss,
    RankNetLoss,
    ReplacedTokenLoss,
    TripletLoss,
)

__all__ = [
    "CRFLoss",
    "CoSENTLoss",
    "ContrastiveLoss",
    "CosineSimilarityLoss",
    "InBatchNegativesLoss",
    "LambdaLoss",
    "ListNetLoss",
    "MarginMSELoss",
    "MatryoshkaLoss",
    "PointwiseLoss",
    "RankNetLoss",
    "ReplacedTokenLoss",
    "TripletLoss",
]

"""Losses that Keras does not have.

For token labels without a `CRF`, use
`keras.losses.SparseCategoricalCrossentropy(from_logits=True,
reduction="mean_with_sample_weight")`. It is the mean over the positions whose sample
weight is not 0, or 0 if there are none.
"""

from keras_bert_lite.training.losses.crf import CRFLoss
from keras_bert_lite.training.losses.electra import ReplacedTokenLoss
from keras_bert_lite.training.losses.ranking import (
    LambdaLoss,
    ListNetLoss,
    PointwiseLoss,
    RankNetLoss,
)
from keras_bert_lite.training.losses.sentence_pairs import (
    ContrastiveLoss,
    CoSENTLoss,
    CosineSimilarityLoss,
    InBatchNegativesLoss,
    MarginMSELoss,
    MatryoshkaLoss,
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

"""Metrics that Keras does not have."""

from keras_bert_lite.training.metrics import (
    F1,
    ConfusionMatrix,
    EntityF1,
    EntityPrecision,
    EntityRecall,
    MatthewsCorrelation,
    MultiLabelF1,
    PearsonCorrelation,
    Perplexity,
    ReplacedTokenAccuracy,
    ReplacedTokenRecall,
    WordAccuracy,
)

__all__ = [
    "F1",
    "ConfusionMatrix",
    "EntityF1",
    "EntityPrecision",
    "EntityRecall",
    "MatthewsCorrelation",
    "MultiLabelF1",
    "PearsonCorrelation",
    "Perplexity",
    "ReplacedTokenAccuracy",
    "ReplacedTokenRecall",
    "WordAccuracy",
]

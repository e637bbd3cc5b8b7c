"""Metrics that Keras does not have."""

from keras_bert_lite.training.metrics import (
    EntityF1,
    EntityPrecision,
    EntityRecall,
    MultiLabelF1,
    PearsonCorrelation,
    Perplexity,
    ReplacedTokenAccuracy,
    ReplacedTokenRecall,
    WordAccuracy,
)

__all__ = [
    "EntityF1",
    "EntityPrecision",
    "EntityRecall",
    "MultiLabelF1",
    "PearsonCorrelation",
    "Perplexity",
    "ReplacedTokenAccuracy",
    "ReplacedTokenRecall",
    "WordAccuracy",
]

"""Metrics over whole epochs, computed in the graph, for any backend."""

from keras_bert_lite.training.metrics.electra import (
    ReplacedTokenAccuracy,
    ReplacedTokenRecall,
)
from keras_bert_lite.training.metrics.entity_f1 import (
    EntityF1,
    EntityPrecision,
    EntityRecall,
)
from keras_bert_lite.training.metrics.multi_label import MultiLabelF1
from keras_bert_lite.training.metrics.pearson import PearsonCorrelation
from keras_bert_lite.training.metrics.perplexity import Perplexity
from keras_bert_lite.training.metrics.word_accuracy import WordAccuracy

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

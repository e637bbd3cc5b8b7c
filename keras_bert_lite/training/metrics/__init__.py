"""Metrics over whole epochs, computed in the graph, for any backend."""

from keras_bert_lite.training.metrics.confusion import ConfusionMatrix
from keras_bert_lite.training.metrics.electra import (
    ReplacedTokenAccuracy,
    ReplacedTokenRecall,
)
from keras_bert_lite.training.metrics.entity_f1 import (
    EntityF1,
    EntityPrecision,
    EntityRecall,
)
from keras_bert_lite.training.metrics.f1 import F1
from keras_bert_lite.training.metrics.matthews import MatthewsCorrelation
from keras_bert_lite.training.metrics.multi_label import MultiLabelF1
from keras_bert_lite.training.metrics.pearson import PearsonCorrelation
from keras_bert_lite.training.metrics.perplexity import Perplexity
from keras_bert_lite.training.metrics.word_accuracy import WordAccuracy

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

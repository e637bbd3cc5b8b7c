"""Evaluation on whole data sets with the official scorers."""

from keras_bert_lite.training.evaluation import scorers
from keras_bert_lite.training.evaluation.callback import EvaluationCallback
from keras_bert_lite.training.evaluation.squad_scores import squad_scores

__all__ = ["EvaluationCallback", "scorers", "squad_scores"]

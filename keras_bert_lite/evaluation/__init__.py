"""Official scores of whole data sets."""

from keras_bert_lite.evaluation import scorers
from keras_bert_lite.evaluation.callback import EvaluationCallback
from keras_bert_lite.training.scores.squad import squad_scores

__all__ = ["EvaluationCallback", "scorers", "squad_scores"]

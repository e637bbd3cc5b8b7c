"""Scores of whole data sets, also while a model is trained."""

from keras_bert_lite.finetuning.evaluate import on_rows
from keras_bert_lite.tasks.rank_correlation import spearman
from keras_bert_lite.training.evaluation_callback import EvaluationCallback
from keras_bert_lite.training.scores.ranking import ranking_scores
from keras_bert_lite.training.scores.squad import squad_scores

__all__ = [
    "EvaluationCallback",
    "on_rows",
    "ranking_scores",
    "spearman",
    "squad_scores",
]

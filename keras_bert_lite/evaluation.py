"""Official scores of whole data sets."""

from keras_bert_lite.training.evaluation import (
    EvaluationCallback,
    scorers,
    squad_scores,
)

__all__ = ["EvaluationCallback", "scorers", "squad_scores"]

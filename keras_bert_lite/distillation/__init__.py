"""Small models that learn from large ones."""

from keras_bert_lite.distillation.from_text import distill_encoder
from keras_bert_lite.distillation.models import distillation_model
from keras_bert_lite.distillation.token_vectors import distill_token_vectors
from keras_bert_lite.layers.distillation import (
    AttentionDistillation,
    HiddenStateDistillation,
    LogitDistillation,
    SimilarityDistillation,
)

__all__ = [
    "AttentionDistillation",
    "HiddenStateDistillation",
    "LogitDistillation",
    "SimilarityDistillation",
    "distill_encoder",
    "distill_token_vectors",
    "distillation_model",
]

"""Small models that learn from large ones."""

from keras_bert_lite.from_text.distill import distill_encoder
from keras_bert_lite.layers.distillation import (
    AttentionDistillation,
    HiddenStateDistillation,
    LogitDistillation,
    SimilarityDistillation,
)
from keras_bert_lite.models.distillation import distillation_model
from keras_bert_lite.training.distillation.token_vectors import distill_token_vectors

__all__ = [
    "AttentionDistillation",
    "HiddenStateDistillation",
    "LogitDistillation",
    "SimilarityDistillation",
    "distill_encoder",
    "distill_token_vectors",
    "distillation_model",
]

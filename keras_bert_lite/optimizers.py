"""BERT's optimizers and learning rate schedule."""

from keras_bert_lite.training.optimizers import AdamW, Lamb, bert_adamw, bert_lamb
from keras_bert_lite.training.schedules import LinearWarmup

__all__ = ["AdamW", "Lamb", "LinearWarmup", "bert_adamw", "bert_lamb"]

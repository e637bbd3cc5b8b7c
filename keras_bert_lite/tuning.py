"""Choosing which weights train: freezing, LoRA, gradient checkpointing."""

from keras_bert_lite.training.freezing import freeze
from keras_bert_lite.training.gradient_checkpointing import set_gradient_checkpointing
from keras_bert_lite.training.lora import enable_lora, merge_lora

__all__ = ["enable_lora", "freeze", "merge_lora", "set_gradient_checkpointing"]

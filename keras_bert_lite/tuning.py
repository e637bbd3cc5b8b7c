"""Training setup: freezing, LoRA, checkpointing, dropout, kernels, warm starts."""

from keras_bert_lite.finetuning.finetune import FineTuned
from keras_bert_lite.tasks.warm_start import warm_start
from keras_bert_lite.training.fast_dropout import set_fast_dropout
from keras_bert_lite.training.freezing import freeze
from keras_bert_lite.training.fused_attention import set_fused_attention
from keras_bert_lite.training.gradient_checkpointing import set_gradient_checkpointing
from keras_bert_lite.training.linear_model import Probe
from keras_bert_lite.training.lora import enable_lora, merge_lora

__all__ = [
    "FineTuned",
    "Probe",
    "enable_lora",
    "freeze",
    "merge_lora",
    "set_fast_dropout",
    "set_fused_attention",
    "set_gradient_checkpointing",
    "warm_start",
]

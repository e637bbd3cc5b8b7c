"""Pretraining: from text files to data, and from data to an encoder."""

from keras_bert_lite.pretraining.data.dataset import pretraining_dataset
from keras_bert_lite.pretraining.data.masking import Masking
from keras_bert_lite.pretraining.from_text import pretrain_encoder
from keras_bert_lite.pretraining.run import pretrain
from keras_bert_lite.pretraining.vocabulary import write_vocabulary
from keras_bert_lite.pretraining.write_data import write_pretraining_data
from keras_bert_lite.tasks.pretraining.bert import (
    bert_pretrainer,
    masked_positions_model,
    next_sentence_predictor,
    replaced_token_detector,
)
from keras_bert_lite.tasks.pretraining.electra import (
    electra_discriminator,
    electra_pretrainer,
)
from keras_bert_lite.text.wordpiece.training import train_wordpiece

__all__ = [
    "Masking",
    "bert_pretrainer",
    "electra_discriminator",
    "electra_pretrainer",
    "masked_positions_model",
    "next_sentence_predictor",
    "pretrain",
    "pretrain_encoder",
    "pretraining_dataset",
    "replaced_token_detector",
    "train_wordpiece",
    "write_pretraining_data",
    "write_vocabulary",
]

"""Readers of data files, and data sets for `model.fit`."""

from keras_bert_lite.training.data.batches import batches
from keras_bert_lite.training.data.intents import intent_and_slot_dataset
from keras_bert_lite.training.data.questions import question_dataset
from keras_bert_lite.training.data.readers.conll import read_conll
from keras_bert_lite.training.data.readers.conllu import read_conllu
from keras_bert_lite.training.data.readers.csv_files import read_csv
from keras_bert_lite.training.data.readers.jsonl import read_jsonl
from keras_bert_lite.training.data.readers.read import read
from keras_bert_lite.training.data.readers.spans import read_spans
from keras_bert_lite.training.data.readers.squad import read_squad
from keras_bert_lite.training.data.records import Records, records
from keras_bert_lite.training.data.sequences import (
    choice_dataset,
    ranking_dataset,
    text_dataset,
)
from keras_bert_lite.training.data.tokens import token_dataset
from keras_bert_lite.training.data.truncation import TruncationWarning

__all__ = [
    "Records",
    "TruncationWarning",
    "batches",
    "choice_dataset",
    "intent_and_slot_dataset",
    "question_dataset",
    "ranking_dataset",
    "read",
    "read_conll",
    "read_conllu",
    "read_csv",
    "read_jsonl",
    "read_spans",
    "read_squad",
    "records",
    "text_dataset",
    "token_dataset",
]

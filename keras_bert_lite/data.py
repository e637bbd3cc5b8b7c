"""Readers of files, and data sets for `model.fit`."""

from keras_bert_lite.training.data import (
    choice_dataset,
    intent_and_slot_dataset,
    question_dataset,
    read_conll,
    read_csv,
    read_jsonl,
    read_squad,
    text_dataset,
    token_dataset,
)

__all__ = [
    "choice_dataset",
    "intent_and_slot_dataset",
    "question_dataset",
    "read_conll",
    "read_csv",
    "read_jsonl",
    "read_squad",
    "text_dataset",
    "token_dataset",
]

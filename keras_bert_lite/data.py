"""Readers of files, data sets for `model.fit`, and a look for mistakes in data."""

from keras_bert_lite.finetuning.debug import debug
from keras_bert_lite.search.mining import mine_negatives
from keras_bert_lite.training.data import (
    TruncationWarning,
    choice_dataset,
    intent_and_slot_dataset,
    question_dataset,
    ranking_dataset,
    read,
    read_conll,
    read_conllu,
    read_csv,
    read_jsonl,
    read_spans,
    read_squad,
    text_dataset,
    token_dataset,
)
from keras_bert_lite.training.data.retrieval import RetrievalSet, read_beir

__all__ = [
    "RetrievalSet",
    "TruncationWarning",
    "choice_dataset",
    "debug",
    "intent_and_slot_dataset",
    "mine_negatives",
    "question_dataset",
    "ranking_dataset",
    "read",
    "read_beir",
    "read_conll",
    "read_conllu",
    "read_csv",
    "read_jsonl",
    "read_spans",
    "read_squad",
    "text_dataset",
    "token_dataset",
]

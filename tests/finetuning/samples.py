"""Rows of every task that is fine-tuned, and a small encoder."""

import functools
import tempfile
from pathlib import Path

import keras_bert_lite as kbl
from keras_bert_lite.finetuning.spec import Spec
from keras_bert_lite.tasks.registry import TASKS
from tests import tiny

GOOD, BAD = ("fine", "fine day", "not a day"), ("weather", "the weather", "is days")


def texts(count=24):
    return [
        {"text": GOOD[i % 3], "label": "good", "number": 1 + i / 100}
        if i % 2
        else {"text": BAD[i % 3], "label": "bad", "number": i / 100}
        for i in range(count)
    ]


def tagged(count=24):
    words = [["fine", "day", "is"], ["the", "weather"]]
    tags = [["B-X", "I-X", "O"], ["O", "B-Y"]]
    return [{"words": words[i % 2], "tags": tags[i % 2]} for i in range(count)]


def rows(task, count=24):
    if task == "text_classification":
        return texts(count)
    if task == "multi_label_classification":
        return [{**x, "label": [x["label"], "any"]} for x in texts(count)]
    if task == "regression":
        return [{**x, "label": x["number"]} for x in texts(count)]
    if task.endswith("token_classification"):
        return tagged(count)
    if task == "intent_and_slots":
        return [{**x, "intent": "ab"[i % 2]} for i, x in enumerate(tagged(count))]
    if task == "multiple_choice":
        return [
            {"text": "the day", "choices": ["fine", "weather"], "label": i % 2}
            for i in range(count)
        ]
    if task == "ranking":
        lists = [["fine", "weather", "is"], ["weather", "fine"]]
        grades = [[1, 0, 0], [0, 2]]
        return [
            {"query": "the day", "candidates": lists[i % 2], "grades": grades[i % 2]}
            for i in range(count)
        ]
    if task == "sentence_embedding":
        # No text twice among neighbours, as batches need.
        return [
            {"text": f"the {x} {i}", "text_pair": f"{x} is {i}"}
            for i, x in enumerate(["day", "weather", "fine", "not"] * (count // 4))
        ]
    context = "the weather is fine"
    answer = {"text": ["fine"], "answer_start": [15]}
    answers = [{"text": [], "answer_start": []}, answer, answer]
    row = {"question": "is a day", "context": context}
    return [{**row, "answers": answers[i % 3]} for i in range(count)]


@functools.cache
def encoder():
    """The directory of a small encoder without dropout."""
    directory = Path(tempfile.mkdtemp())
    config = tiny.config(num_layers=1, dropout=0.0, attention_dropout=0.0, pooling=None)
    kbl.save_hugging_face(kbl.encoder(config), tiny.preprocessor(24), directory)
    return directory


def spec(task, labels=None, columns=None, **decided):
    """A task, with the columns that are named and its usual ones."""
    row = TASKS[task]
    known = row.fine_tuning.rows.columns_of(columns or {}, {})
    return Spec(row, known, labels or {}, **decided)

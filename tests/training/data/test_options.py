import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny

ROWS = [{"text": "a fine day", "choices": ["a", "b"], "label": 1}] * 4
WORDS = [{"words": ["a", "day"], "tags": ["O", "X"]}] * 4
QUESTION = {"question": "a", "context": "fine day", "answers": {}}
QUESTION["answers"] = {"text": ["day"], "answer_start": [5]}


@pytest.mark.parametrize(
    "make",
    {
        "texts": lambda p: kbl.text_dataset(ROWS, p),
        "shuffled": lambda p: kbl.text_dataset(ROWS, p, shuffle=True),
        "choices": lambda p: kbl.choice_dataset(ROWS, p),
        "words": lambda p: kbl.token_dataset(WORDS, p, ["O", "X"]),
        "questions": lambda p: kbl.question_dataset([QUESTION], p),
    }.values(),
)
def test_no_thread_tunes(make):
    dataset = make(kbl.Preprocessor(tiny.tokenizer(), 16, stride=2))
    assert dataset.options().autotune.enabled is False
    assert np.sum([1 for _ in dataset]) > 0

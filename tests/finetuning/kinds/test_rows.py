"""Which rows a kind of task takes, and what it reads of them."""

import pytest

from keras_bert_lite.finetuning.kinds import KINDS
from tests.finetuning import samples


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("text_classification", {"label": " "}, "`label` must be a name"),
        ("text_classification", {"label": float("nan")}, "`label` must be a name"),
        ("multi_label_classification", {"label": ["a", ""]}, "must be a list of names"),
        ("intent_and_slots", {"intent": ""}, "`intent` must be a name"),
        ("multiple_choice", {"label": 2}, "the place of one of 2 choices"),
        ("multiple_choice", {"label": True}, "the place of one of 2 choices"),
        ("multiple_choice", {"choices": "fine"}, "a list of two strings or more"),
        ("multiple_choice", {"choices": ["fine"]}, "a list of two strings or more"),
    ],
)
def test_refuses(task, changes, message):
    row = {**samples.rows(task)[0], **changes}
    with pytest.raises(ValueError, match=message):
        KINDS[task]().valid(row)


def test_numbers_are_names():
    row = samples.rows("intent_and_slots")[0]
    assert KINDS["intent_and_slots"]().valid({**row, "intent": 1})["intent"] == "1"
    row = samples.rows("multiple_choice")[0]
    assert KINDS["multiple_choice"]().valid({**row, "label": "1"})["label"] == 1


@pytest.mark.parametrize(
    ("columns", "row", "read"),
    [
        ({}, {"text_pair": "b"}, "text_pair"),
        ({}, {"text_pair": None}, None),
        ({}, {}, None),
        ({"text_pair": None}, {"text_pair": "b"}, None),
        ({"label": "text_pair"}, {"text_pair": "b"}, None),
    ],
)
def test_a_second_text_is_found(columns, row, read):
    kind = KINDS["text_classification"](**columns)
    kind.valid({"text": "a", "label": "x", **row})
    assert kind.column["text_pair"] == read
    kind.valid({"text": "a", "label": "x", "text_pair": "b"})
    assert kind.column["text_pair"] == read  # the first row has decided


def test_each_choice_has_a_row_of_its_own():
    row = {"text": "a", "choices": ["b", "longer"], "label": 0}
    assert KINDS["multiple_choice"]().text_of(row, "choices") == "longer"
    words = {"words": ["a", "b"], "tags": ["O", "O"]}
    assert KINDS["token_classification"]().text_of(words, "words") == "a b"

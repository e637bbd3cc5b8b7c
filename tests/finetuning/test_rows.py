import itertools

import pytest

from keras_bert_lite.finetuning.rows import (
    check_labels,
    in_stages,
    ordered,
    read_rows,
    sample,
    split,
)
from keras_bert_lite.finetuning.spec import TUNABLE
from tests.finetuning import samples

FORM = TUNABLE["text_classification"].rows


def rows(count):
    return [{"text": "a" * (1 + i % 7), "label": str(i)} for i in range(count)]


@pytest.mark.parametrize(
    ("count", "held_out"), [(8, 2), (800, 200), (5000, 500), (30_000, 2000)]
)
def test_how_many_are_held_out(count, held_out):
    parts = split(rows(count), None, 0)
    assert (len(parts.train), len(parts.validation)) == (count - held_out, held_out)
    labels = {x["label"] for x in (*parts.train, *parts.validation)}
    assert len(labels) == count


def test_given_rows_are_held_out():
    parts = split(rows(3), rows(2), 0)
    assert (len(parts.train), len(parts.validation), parts.given) == (3, 2, True)


def test_every_row_once_an_epoch_in_another_order():
    found = list(itertools.islice(ordered(rows(50), FORM, 4, 0), 100))
    first, second = ([x["label"] for x in part] for part in (found[:50], found[50:]))
    assert sorted(first) == sorted(second) == sorted(x["label"] for x in rows(50))
    assert first != second
    again = itertools.islice(ordered(rows(50), FORM, 4, 0), 100)
    assert list(again) == found


def test_batches_have_rows_of_similar_length():
    found = list(itertools.islice(ordered(rows(56), FORM, 8, 0), 56))
    spreads = [
        max(lengths) - min(lengths)
        for i in range(0, 56, 8)
        for lengths in [[len(x["text"]) for x in found[i : i + 8]]]
    ]
    assert max(spreads) <= 1


def test_questions_with_answers_come_first():
    task = TUNABLE["question_answering"]
    answered = task.first(samples.rows("question_answering", 24))
    silent = [{**x, "answers": {"text": [], "answer_start": []}} for x in answered]
    found = list(itertools.islice(in_stages(answered + silent, task, 4, 0, 19), 64))
    counts = [sum(not x["answers"]["text"] for x in found[i : i + 16]) for i in (0, 16)]
    assert counts[0] == 0 < counts[1]
    assert found[16:] == list(
        itertools.islice(ordered(answered + silent, task.rows, 4, 0), 48)
    )
    few = answered[:3] + silent  # for batches of their own
    for rows in (answered, silent, few):
        order = itertools.islice(in_stages(rows, task, 4, 0, 19), 24)
        assert list(order) == list(itertools.islice(ordered(rows, task.rows, 4, 0), 24))


def test_values_from_tables_are_converted():
    form = TUNABLE["multi_label_classification"].rows
    found, _ = read_rows([{"text": "a", "label": "joy, fear"}], form, {}, "train")
    assert found[0]["label"] == ["joy", "fear"]
    form = TUNABLE["regression"].rows
    found, _ = read_rows([{"text": "a", "label": "2.5"}], form, {}, "train")
    assert found[0]["label"] == 2.5
    with pytest.raises(
        ValueError, match=r"`train`, record 0: `label` must be a number"
    ):
        read_rows([{"text": "a", "label": "high"}], form, {}, "train")


@pytest.mark.parametrize(
    ("task", "row"),
    [
        ("text_classification", {"text": "a", "label": None}),
        ("text_classification", {"text": "a", "label": float("nan")}),
        ("text_classification", {"text": None, "label": "a"}),
        ("text_classification", {"text": "a", "label": ["a", "b"]}),
        ("multi_label_classification", {"text": "a", "label": 1}),
        ("regression", {"text": "a", "label": float("inf")}),
        ("token_classification", {"words": ["a"], "tags": []}),
    ],
)
def test_refuses_invalid_values(task, row):
    with pytest.raises(ValueError, match="`train`, record 0: `"):
        read_rows([row], TUNABLE[task].rows, {}, "train")


def test_a_sample_is_of_rows_in_their_order():
    assert sample(rows(5), None, 0) == sample(rows(5), 5, 0) == rows(5)
    found = [int(x["label"]) for x in sample(rows(50), 9, 0)]
    assert len(set(found)) == 9
    assert found == sorted(found)
    assert found != [int(x["label"]) for x in sample(rows(50), 9, 1)]


@pytest.mark.parametrize(
    ("task", "labels", "message"),
    [
        ("text_classification", {"labels": ["good"]}, r"record 0: its labels .*'bad'"),
        ("token_classification", {"labels": ["O", "B-X", "I-X"]}, r"record 1: its lab"),
        (
            "intent_and_slots",
            {"intents": ["a"], "slots": ["O", "B-X", "I-X", "B-Y"]},
            r"record 1: its intents must be of the model's, \['a'\]. Received: \['b'\]",
        ),
    ],
)
def test_refuses_labels_that_a_model_has_not(task, labels, message):
    with pytest.raises(ValueError, match=message):
        check_labels(samples.rows(task), TUNABLE[task].rows, labels, "train")


def test_refuses_rows_that_do_not_go_together():
    row = samples.rows("multiple_choice")[0]
    found = [row, {**row, "choices": ["a", "b", "c"]}]
    with pytest.raises(ValueError, match="`train`: `choices` must have as many"):
        read_rows(found, TUNABLE["multiple_choice"].rows, {}, "train")


def test_rows_have_the_names_of_their_format():
    records = [{"sentence": "a", "y": 1, "id": 3}, {"sentence": "b", "y": 2}]
    columns = {"text": "sentence", "label": "y"}
    rows, known = read_rows(records, FORM, columns, "train")
    assert rows == [{"text": "a", "label": "1"}, {"text": "b", "label": "2"}]
    assert known == {**columns, "text_pair": None}

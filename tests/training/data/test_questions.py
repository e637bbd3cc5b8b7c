"""question_dataset against targets written out in Python."""

import functools

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.data.questions import question_dataset
from tests import tiny
from tests.training.data.batches import assert_inputs, only

LENGTH, STRIDE = 14, 3
PREPROCESSOR = tiny.preprocessor(LENGTH, stride=STRIDE)
WEATHER = "the weather is not fine, and finer days a b c d e f g h i j are not bad"


def record(question, context, answer=None, start=None):
    start = context.index(answer) if answer and start is None else start
    found = {"text": [answer], "answer_start": [start]}
    none = {"text": [], "answer_start": []}
    given = none if answer is None else found
    return {"question": question, "context": context, "answers": given}


RECORDS = [
    record("is it", WEATHER, "finer days"),
    record("what", WEATHER, "weather"),
    record("what is it, the day or the weather", WEATHER, "not bad"),
    record("the day", WEATHER, "b c d e f g"),
    record("", WEATHER, None),
    record("", "", None),
    record("a", "e\u0301te\u0301 🙂 day", "🙂"),
    record("a", "e\u0301te\u0301 🙂 day", "day"),
    record("a", "the \u200b day", "\u200b"),
    record("a", "weather", "eath"),
]


def expected_rows(record):
    """Returns `(ids, start, end)` of each window of a record."""
    tokenizer = PREPROCESSOR.tokenizer
    question = tokenizer([record["question"]])[0].numpy().tolist()
    question = question[: (LENGTH - 3) // 2]
    ids, starts, ends = (
        x[0].numpy() for x in tokenizer.tokenize_with_offsets([record["context"]])
    )
    answer = record["answers"]
    inside = []
    if answer["text"]:
        begin = answer["answer_start"][0]
        end = begin + len(answer["text"][0])
        inside = np.flatnonzero((ends > begin) & (starts < end)).tolist()
    room = LENGTH - 3 - len(question)
    step = room - min(STRIDE, room // 2)
    for first in range(0, max(len(ids) - room, 0) + step, step):
        window = range(first, min(first + room, len(ids)))
        row = [tokenizer.cls_id, *question, tokenizer.sep_id]
        begin = len(row)
        row += [*ids[first : first + room].tolist(), tokenizer.sep_id]
        if inside and inside[0] in window and inside[-1] in window:
            places = (begin + inside[0] - first, begin + inside[-1] - first)
        else:
            places = (0, 0)
        yield row, *places


def all_rows(dataset):
    rows = []
    for ids, targets in dataset:
        places = (targets[x].numpy().tolist() for x in ("start_logits", "end_logits"))
        pairs = zip(ids["token_ids"].numpy(), ids["padding_mask"].numpy(), strict=True)
        tokens = [x[mask].tolist() for x, mask in pairs]
        rows += zip(tokens, *places, strict=True)
    return rows


@functools.cache
def plain_rows():
    return all_rows(question_dataset(RECORDS, PREPROCESSOR, batch_size=4))


def test_targets_are_the_tokens_of_the_answer():
    rows = plain_rows()
    assert rows == [row for each in RECORDS for row in expected_rows(each)]
    # One window holds the token of "eath", none that of an invisible answer.
    assert [start > 0 for _, start, _ in rows][-4:] == [True, True, False, True]
    assert sum(start > 0 for _, start, _ in rows) > len(RECORDS) - 4


def test_inputs_are_those_of_the_preprocessor():
    source = [record("is it", "fine", "fine"), record("", "a b", "b")]
    ids, targets = only(question_dataset(source, PREPROCESSOR))
    assert_inputs(ids, tiny.preprocessor(LENGTH)((["is it", ""], ["fine", "a b"])))
    assert {x.dtype.name for x in targets.values()} == {"int32"}


def test_other_columns():
    source = [{"q": "a", "c": "the day", "a": {"text": ["day"], "answer_start": [4]}}]
    columns = {"question": "q", "context": "c", "answers": "a"}
    _, targets = only(question_dataset(source, PREPROCESSOR, **columns))
    assert targets["start_logits"].numpy().tolist() == [4]


def test_padding_to_a_fixed_length():
    preprocessor = tiny.preprocessor(LENGTH, stride=STRIDE, padding="max_length")
    options = {"batch_size": 3, "drop_remainder": True}
    dataset = question_dataset(RECORDS, preprocessor, **options)
    assert dataset.element_spec[0]["token_ids"].shape == (3, LENGTH)
    rows = all_rows(dataset)
    plain = plain_rows()
    assert rows == plain[: len(rows)]
    assert len(plain) - len(rows) == len(plain) % 3


def test_shuffling_keeps_every_window():
    options = {"batch_size": 4, "shuffle": True, "seed": 1}
    rows = all_rows(question_dataset(RECORDS, PREPROCESSOR, **options))
    plain = plain_rows()
    assert rows != plain
    assert sorted(rows) == sorted(plain)


def test_many_records_are_cut_in_parts():
    source = RECORDS * 20
    rows = all_rows(question_dataset(source, PREPROCESSOR, batch_size=7))
    assert rows == [row for each in RECORDS for row in expected_rows(each)] * 20


def test_trains():
    model = kbl.question_answerer(tiny.encoder(num_layers=1, pooling=None))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", {"start_logits": loss, "end_logits": loss}, run_eagerly=True)
    dataset = question_dataset(RECORDS, PREPROCESSOR, batch_size=16)
    (found,) = model.fit(dataset, shuffle=False, verbose=0).history["loss"]
    assert np.isfinite(found)
    # The loss is of positions, not of padding, whose scores are -10,000.
    assert found < 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"answers": {"text": ["day"], "answer_start": [3]}},
            "'day' at 3, where .*' da'",
        ),
        ({"answers": {"text": ["day"], "answer_start": [-3]}}, "'day' at -3"),
        ({"answers": {"text": [""], "answer_start": [0]}}, "must be at"),
        ({"answers": {"text": ["day"], "answer_start": []}}, "of the same length"),
        ({"answers": {"text": ["day"], "answer_start": ["4"]}}, "of the same length"),
        ({"answers": {"text": "day", "answer_start": 4}}, "must be a dictionary of"),
        ({"answers": {"text": ["day"]}}, "must be a dictionary of the lists"),
        ({"answers": None}, "must be a dictionary of the lists"),
        ({"answers": ["day"]}, "must be a dictionary of the lists"),
        ({"context": None}, "`context` must be a string. Received: None"),
        ({"context": ["the day"]}, "`context` must be a string"),
        ({"question": 3}, "`question` must be a string. Received: 3"),
        ({"question": "\ud800"}, "`question` must be Unicode"),
        ({"context": "\ud800 day"}, "`context` must be Unicode"),
    ],
)
def test_refuses_records(changes, message):
    good = record("what", "the day", "day")
    with pytest.raises(ValueError, match=f"Record 1: .*{message}"):
        question_dataset([good, {**good, **changes}], PREPROCESSOR)


@pytest.mark.parametrize("column", ["question", "context", "answers"])
def test_names_missing_columns(column):
    good = record("what", "the day", "day")
    bad = {name: value for name, value in good.items() if name != column}
    message = f"Record 1: `{column}` must be one of the columns"
    with pytest.raises(ValueError, match=message):
        question_dataset([good, bad], PREPROCESSOR)


def test_refuses_no_records():
    with pytest.raises(ValueError, match="`source` must hold records"):
        question_dataset([], PREPROCESSOR)


@pytest.mark.parametrize("name", ["batch_size", "shuffle"])
@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_refuses_sizes(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be a positive integer"):
        question_dataset(RECORDS, PREPROCESSOR, **{name: value})

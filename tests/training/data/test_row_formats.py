"""Which rows a task takes, and what it reads of them."""

import pytest

from keras_bert_lite.finetuning.rows import read_rows
from keras_bert_lite.finetuning.spec import TUNABLE
from keras_bert_lite.training.data.row_formats import in_order
from tests.finetuning import samples


def read(task, row, columns=None):
    form = TUNABLE[task].rows
    return form.read(row, form.columns_of(columns or {}, row))


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("text_classification", {"label": " "}, "`label` must be names that are not"),
        ("text_classification", {"label": float("nan")}, "`label` must be a name"),
        ("text_classification", {"label": "good\0"}, "without control characters"),
        ("text_classification", {"label": "a\nb"}, "without control characters"),
        ("multi_label_classification", {"label": ["a", ""]}, "that are not empty"),
        ("multi_label_classification", {"label": ["a", 1]}, "must be a list of names"),
        ("multi_label_classification", {"label": "a,b\0"}, "without control"),
        ("intent_and_slots", {"intent": ""}, "`intent` must be names"),
        ("intent_and_slots", {"intent": "x\0"}, "without control characters"),
        ("intent_and_slots", {"intent": None}, "`intent` must be a name or a number"),
        ("token_classification", {"tags": ["O", "O", "X\0"]}, "without control"),
        ("multiple_choice", {"choices": ["1", "0"], "label": "1"}, "as a number where"),
        ("multiple_choice", {"label": 2}, "the place of one of 2 choices"),
        ("multiple_choice", {"label": True}, "the place of one of 2 choices"),
        ("multiple_choice", {"choices": "fine"}, "a list of two strings or more"),
        ("multiple_choice", {"choices": ["fine"]}, "a list of two strings or more"),
        ("token_classification", {"words": ["a", " ", "b"]}, "`words` must hold"),
        ("token_classification", {"tags": ["O", None, "O"]}, "`tags` must hold"),
        ("token_classification", {"tags": [0, 1, 0]}, "`tags` must hold strings"),
        ("multiple_choice", {"label": "²"}, "the place of one of 2 choices"),
        ("ranking", {"query": ["a"]}, "`query` must be a string"),
        ("ranking", {"candidates": ["a", "", "b"]}, "none of them empty"),
        ("ranking", {"grades": [1, 0]}, "a list of 3 numbers, one for each candidate"),
        ("ranking", {"grades": [1, 0, -0.1]}, "`grades` must be from 0 to 100"),
        ("ranking", {"candidates": "a", "grades": "x"}, "`grades` must be a number"),
        ("sentence_embedding", {"text_pair": 1}, "`text_pair` must be a string"),
        ("sentence_embedding", {"negative": 1}, "`negative` must be a string"),
        ("sentence_embedding", {"negative": "a", "label": 1}, "or `label` .* both"),
        ("sentence_embedding", {"label": "x"}, "`label` must be a number"),
        ("sentence_embedding", {"label": float("nan")}, "`label` must be a number"),
        ("regression", {"label": True}, "`label` must be a number"),
        ("regression", {"label": 1e20}, "`label` must be a number of up to 1e"),
        ("regression", {"label": 10**400}, "`label` must be a number of up to 1e"),
        ("regression", {"label": float("nan")}, "`label` must be a number"),
    ],
)
def test_refuses(task, changes, message):
    row = {**samples.rows(task)[0], **changes}
    with pytest.raises(ValueError, match=message):
        read(task, row)


def test_refuses_choices_of_different_numbers():
    row = samples.rows("multiple_choice")[0]
    rows = [row, {**row, "choices": ["a", "b", "c"]}, row]
    with pytest.raises(ValueError, match=r"as many choices.*2 in 2 rows, 3 in 1"):
        TUNABLE["multiple_choice"].rows.prepared(rows)


def test_numbers_are_names():
    row = samples.rows("intent_and_slots")[0]
    assert read("intent_and_slots", {**row, "intent": 1})["intent"] == "1"
    row = samples.rows("multiple_choice")[0]
    assert read("multiple_choice", {**row, "label": "1"})["label"] == 1
    numbers = {**row, "choices": ["1", "0"], "label": 1}  # a place in any case
    assert read("multiple_choice", numbers)["label"] == 1
    row = samples.rows("text_classification")[0]
    for value, name in ((1, "1"), (1.5, "1.5"), (True, "True")):
        assert read("text_classification", {**row, "label": value})["label"] == name


def test_labels_are_in_the_order_of_their_numbers():
    assert in_order({"10", "2", "-1"}) == ["-1", "2", "10"]
    assert in_order({"1", "01"}) == ["01", "1"]
    assert in_order({"²", "10", "2"}) == ["10", "2", "²"]  # no whole numbers


@pytest.mark.parametrize(
    ("columns", "row", "pair"),
    [
        ({}, {"text_pair": "b"}, "text_pair"),
        ({}, {"text_pair": None}, None),
        ({}, {}, None),
        ({"text_pair": None}, {"text_pair": "b"}, None),
        ({"label": "text_pair"}, {"text_pair": "b"}, None),
    ],
)
def test_a_second_text_is_found(columns, row, pair):
    form = TUNABLE["text_classification"].rows
    known = form.columns_of(columns, {"text": "a", "label": "x", **row})
    assert known["text_pair"] == pair


def test_grades_may_be_called_labels():
    form = TUNABLE["ranking"].rows
    record = {"query": "a", "candidates": ["b"], "labels": [1]}
    assert form.columns_of({}, record)["grades"] == "labels"
    row = form.read(record, form.columns_of({}, record))
    assert row == {"query": "a", "candidates": ["b"], "grades": [1]}
    assert form.columns_of({}, {**record, "grades": [0]})["grades"] == "grades"
    assert form.columns_of({"grades": "y"}, record)["grades"] == "y"


@pytest.mark.parametrize(
    ("record", "row"),
    [
        ({"anchor": "a", "positive": "b"}, {"text": "a", "text_pair": "b"}),
        ({"query": "a", "positive": "b"}, {"text": "a", "text_pair": "b"}),
        (
            {"anchor": "a", "positive": "b", "negative": "c"},
            {"text": "a", "text_pair": "b", "negative": "c"},
        ),
        (
            {"sentence1": "a", "sentence2": "b", "score": "0.5"},
            {"text": "a", "text_pair": "b", "label": 0.5},
        ),
        (
            {"text": "a", "text_pair": "b", "label": 1, "score": 2},
            {"text": "a", "text_pair": "b", "label": 1},
        ),
    ],
)
def test_compared_texts_have_several_names(record, row):
    form = TUNABLE["sentence_embedding"].rows
    assert form.read(record, form.columns_of({}, record)) == row
    assert form.num_sequences(row) == len(row) - ("label" in row)


def test_a_table_has_a_candidate_a_row():
    form = TUNABLE["ranking"].rows
    records = [
        {"query": "a", "candidate": "x", "label": "1"},
        {"query": "b", "candidate": "y", "label": "0.5"},
        {"query": "a", "candidate": "z", "label": "0"},
    ]
    rows, columns = read_rows(records, form, {}, "train")
    assert rows == [
        {"query": "a", "candidates": ["x", "z"], "grades": [1.0, 0.0]},
        {"query": "b", "candidates": ["y"], "grades": [0.5]},
    ]
    assert columns == {"query": "query", "candidates": "candidate", "grades": "label"}
    # Not where a query has lists, of which some are of one candidate.
    lists = [{"query": "a", "candidates": ["x"], "grades": [1]}] * 2
    longer = {"query": "b", "candidates": ["x", "y"], "grades": [1, 0]}
    assert form.prepared([*lists, longer]) == [*lists, longer]


@pytest.mark.parametrize(
    ("relevant", "others", "lengths"),
    [
        (1, 7, [8]),
        (1, 8, [5, 5]),  # the relevant one twice
        (3, 17, [7, 7, 6]),
        (1, 24, [7, 7, 7, 7]),
        (20, 1, [7, 7, 7]),
        (0, 9, [5, 4]),
    ],
)
def test_long_lists_are_dealt_in_training(relevant, others, lengths):
    form = TUNABLE["ranking"].rows
    grades = [2] * relevant + [0] * others
    names = [f"c{i}" for i in range(len(grades))]
    row = {"query": "a", "candidates": names, "grades": grades}
    found = form.training_rows([row, {**row, "query": "b"}])
    assert found == form.training_rows([row, {**row, "query": "b"}])
    first = [x for x in found if x["query"] == "a"]
    assert [len(x["candidates"]) for x in first] == lengths
    assert all(any(x["grades"]) for x in first) == bool(relevant)
    dealt = [
        pair for x in first for pair in zip(x["candidates"], x["grades"], strict=True)
    ]
    assert set(dealt) == set(zip(names, grades, strict=True))
    assert sum(not grade for _, grade in dealt) == others
    if relevant + others > 8:
        assert [x["candidates"] for x in first] != [names[: len(x)] for x in first]


def test_other_rows_are_trained_on_as_they_are():
    rows = samples.texts(3)
    assert TUNABLE["text_classification"].rows.training_rows(rows) is rows


def test_each_choice_has_a_row_of_its_own():
    row = {"text": "a", "choices": ["b", "longer"], "label": 0}
    assert TUNABLE["multiple_choice"].rows.as_text(row, "choices") == "longer"
    row = {"query": "a", "candidates": ["longer", "b"], "grades": [1, 0]}
    assert TUNABLE["ranking"].rows.as_text(row, "candidates") == "longer"
    words = {"words": ["a", "b"], "tags": ["O", "O"]}
    assert TUNABLE["token_classification"].rows.as_text(words, "words") == "a b"


@pytest.mark.parametrize(
    ("task", "columns"),
    [("text_classification", {"text": None}), ("multiple_choice", {"label": None})],
)
def test_refuses_to_go_without_a_column(task, columns):
    with pytest.raises(ValueError, match="`columns` must name the column of"):
        TUNABLE[task].rows.check_columns(task, columns)


def test_an_entity_may_go_on_although_no_row_has_one_that_does():
    form = TUNABLE["token_classification"].rows
    rows = [{"words": ["a", "b"], "tags": ["B-X", "O"]}]
    assert form.all_labels(rows) == {"labels": ["O", "B-X", "I-X"]}

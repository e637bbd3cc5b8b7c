"""read_squad."""

import json

import pytest

from keras_bert_lite.training.data import read, read_squad
from tests.training.data.files import DATA, needs_data, write

CONTEXT = "\U0001f600 one two one two"  # a code point that is two in UTF-16


def question(*answers, name="q", **changes):
    stated = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": name, "question": "Which?", "answers": stated, **changes}


def squad(folder, *questions):
    paragraph = {"context": CONTEXT, "qas": list(questions)}
    data = {"version": "2.0", "data": [{"title": "T", "paragraphs": [paragraph]}]}
    return write(folder, "a.json", json.dumps(data))


def test_reads_questions(tmp_path):
    none = question(name="r", is_impossible=True)
    rows = read_squad(squad(tmp_path, question(("one", 2), ("two", 14)), none))
    expected = {
        "id": "q",
        "title": "T",
        "question": "Which?",
        "context": CONTEXT,
        "answers": {"text": ["one", "two"], "answer_start": [2, 14]},
        "is_impossible": False,
    }
    empty = {"text": [], "answer_start": []}
    other = {**expected, "id": "r", "answers": empty, "is_impossible": True}
    assert list(rows) == list(rows) == [expected, other]


@pytest.mark.parametrize(
    ("start", "found"), [(0, 6), (6, 6), (8, 6), (13, 14), (99, 14), (-3, 6)]
)
def test_finds_the_nearest_place(tmp_path, start, found):
    path = squad(tmp_path, question(("two", start)))
    if start == found:
        row = next(iter(read_squad(path, "find")))
    else:
        with pytest.raises(ValueError, match=r"question 'q': .*'two' at .*\[6, 14\]"):
            list(read_squad(path))
        with pytest.warns(UserWarning, match="1 of 1 answers .* were moved"):
            (row,) = read_squad(path, "find")
    assert row["answers"] == {"text": ["two"], "answer_start": [found]}


def test_skips_misplaced_answers(tmp_path):
    one = question(("one", 2), ("two", 3))
    path = squad(tmp_path, one, question(("six", 2), name="r"))
    with pytest.warns(UserWarning, match="2 of 3 answers .* were left out") as caught:
        (row,) = read_squad(path, "skip")
    assert len(caught) == 1
    assert row["answers"] == {"text": ["one"], "answer_start": [2]}
    with pytest.raises(ValueError, match=r"question 'r': .*'six' at 2.*\[\]"):
        list(read_squad(path, "find"))


def test_keeps_repeated_ids(tmp_path):
    path = squad(tmp_path, question(), question())
    rows = list(read_squad(path, repeated_ids="keep"))
    assert [x["id"] for x in rows] == ["q", "q"]
    assert list(read(path, repeated_ids="keep")) == rows


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        (
            [question(), question()],
            "a.json: question 'q': the id must be of one question, or pass",
        ),
        ([question(("one", 2), is_impossible=True)], "`answers` must be empty"),
        ([question(("one", True))], "'q': `answer_start` must be an int. .*True"),
        ([question(("", 2))], "an answer's text must be at"),
        ([question(answers={"text": []})], "'q': `answers` must be a list. Received"),
        ([question(question=None)], "'q': `question` must be a str. Received: None"),
        ([{"question": "?"}], "a.json: `id` must be a str"),
    ],
)
def test_names_the_question(tmp_path, questions, message):
    with pytest.raises(ValueError, match=message):
        list(read_squad(squad(tmp_path, *questions)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"data":\n[}', "a.json:2: must be JSON"),
        ("", "a.json:1: must be JSON"),
        (b'{"data":\n"\xff"}', "a.json:2: must be UTF-8"),
        ("[" * 100_000, "a.json: must be SQuAD's JSON. Received: it is nested"),
        ('{"data":' + "[" * 100_000, "a.json: must be SQuAD's JSON"),
        ("[1]", r"a.json: `data` must be a list. Received: None, in \[1\]"),
    ],
)
def test_names_the_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        list(read_squad(write(tmp_path, "a.json", content)))


def test_refuses_other_words(tmp_path):
    with pytest.raises(ValueError, match="`misplaced` must be one of"):
        read_squad(squad(tmp_path, question()), misplaced="move")


@needs_data
@pytest.mark.parametrize(
    ("version", "size", "impossible"), [("1.1", 10_570, 0), ("2.0", 11_873, 5_945)]
)
def test_reads_squad(version, size, impossible):
    rows = list(read_squad(DATA / "squad" / f"dev-v{version}.json"))
    assert len(rows) == size
    assert sum(row["is_impossible"] for row in rows) == impossible
    assert all(row["is_impossible"] != bool(row["answers"]["text"]) for row in rows)


@needs_data
@pytest.mark.parametrize("language", ["ar", "hi", "zh"])
def test_reads_xquad(language):
    assert len(list(read_squad(DATA / "xquad" / f"xquad.{language}.json"))) == 1190

"""Spans of characters of annotation tools, as words with tags and back."""

import json

import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.data.readers.spans import (
    TOOLS,
    Span,
    as_spans,
)

TEXT = "Anna Lee flew to Paris."
SPANS = [Span(0, 8, "PER"), Span(17, 22, "LOC")]
WORDS = ["Anna", "Lee", "flew", "to", "Paris", "."]
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]
RECORDS = {
    "doccano": {"text": TEXT, "label": [[0, 8, "PER"], [17, 22, "LOC"]]},
    "doccano, older": {"text": TEXT, "labels": [[0, 8, "PER"], [17, 22, "LOC"]]},
    "doccano, with relations": {
        "text": TEXT,
        "entities": [
            {"id": 1, "start_offset": 0, "end_offset": 8, "label": "PER"},
            {"id": 2, "start_offset": 17, "end_offset": 22, "label": "LOC"},
        ],
        "relations": [],
    },
    "spacy": {"text": TEXT, "entities": [[0, 8, "PER"], [17, 22, "LOC"]]},
    "spacy, documents": {
        "text": TEXT,
        "ents": [
            {"start": 0, "end": 8, "label": "PER"},
            {"start": 17, "end": 22, "label": "LOC"},
        ],
    },
    "prodigy": {
        "text": TEXT,
        "spans": [
            {"start": 0, "end": 8, "token_start": 0, "token_end": 1, "label": "PER"},
            {"start": 17, "end": 22, "label": "LOC"},
        ],
        "answer": "accept",
    },
    "label studio": {
        "data": {"text": TEXT},
        "annotations": [
            {
                "result": [
                    {"value": {"start": 0, "end": 8, "labels": ["PER"]}},
                    {"value": {"start": 17, "end": 22, "labels": ["LOC"]}},
                ]
            }
        ],
    },
    "label studio, JSON-MIN": {
        "text": TEXT,
        "label": [
            {"start": 0, "end": 8, "labels": ["PER"]},
            {"start": 17, "end": 22, "labels": ["LOC"]},
        ],
    },
}


def write(path, *records, array=False):
    if array:
        path.write_text(json.dumps(records, indent=1), encoding="utf-8")
    else:
        path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", RECORDS)
@pytest.mark.parametrize("array", [False, True])
def test_the_forms_of_tools_are_recognized(form, array, tmp_path):
    path = tmp_path / ("a.json" if array else "a.jsonl")
    (record,) = kbl.data.read(write(path, RECORDS[form], array=array))
    assert record["text"] == TEXT
    assert record["words"] == WORDS
    assert record["tags"] == TAGS


@pytest.mark.parametrize("tool", TOOLS)
def test_spans_come_back(tool):
    assert TOOLS[tool].read(as_spans(tool, TEXT, SPANS)) == (
        SPANS if tool != "label_studio" else None  # predictions are no annotations
    )
    assert as_spans("label_studio", TEXT, SPANS)["predictions"][0]["result"][1] == {
        "from_name": "label",
        "to_name": "text",
        "type": "labels",
        "value": {"start": 17, "end": 22, "text": "Paris", "labels": ["LOC"]},
    }


@pytest.mark.parametrize(
    "record",
    [
        {"text": "a", "label": "good"},
        {"text": "a", "label": ["joy", "fear"]},
        {"text": "a", "label": []},
        {"text": "a", "choices": ["b", "c"], "label": 1},
        {"words": ["a"], "tags": ["O"]},
    ],
)
def test_other_rows_are_left_as_they_are(record, tmp_path):
    assert list(kbl.data.read(write(tmp_path / "a.jsonl", record))) == [record]


def test_squad_is_read_as_before(tmp_path):
    path = tmp_path / "squad.json"
    path.write_text('{"version": "1", "data": []}')
    assert list(kbl.data.read(path)) == []


def test_texts_without_spans(tmp_path):
    records = [{"text": "no one", "label": []}, RECORDS["doccano"]]
    first, second = kbl.data.read(write(tmp_path / "a.jsonl", *records))
    assert first["tags"] == ["O", "O"]
    assert second["tags"] == TAGS


@pytest.mark.parametrize(
    ("span", "misplaced", "tags"),
    [
        ([17, 23, "LOC"], "error", ["O", "O", "O", "O", "B-LOC", "I-LOC"]),
        ([16, 22, "LOC"], "error", ["O", "O", "O", "O", "B-LOC", "O"]),  # a blank
        ([18, 22, "LOC"], "find", ["O", "O", "O", "O", "B-LOC", "O"]),
        ([2, 7, "PER"], "find", ["B-PER", "I-PER", "O", "O", "O", "O"]),
        ([2, 7, "PER"], "skip", ["O"] * 6),
        ([4, 5, "PER"], "skip", ["O"] * 6),
    ],
)
def test_spans_that_do_not_fit_words(span, misplaced, tags, tmp_path):
    path = write(tmp_path / "a.jsonl", {"text": TEXT, "label": [span]})
    records = kbl.data.read_spans(path, misplaced)
    if misplaced == "error":
        assert next(iter(records))["tags"] == tags
    else:
        with pytest.warns(UserWarning, match="1 spans that do not begin and end"):
            assert next(iter(list(records)))["tags"] == tags


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": [[2, 8, "PER"]]}, r"record 0: 'na Lee' \(PER\), characters 2 to 8"),
        ({"label": [[0, 99, "PER"]]}, r"within its 23 characters.*\[0, 99, 'PER'\]"),
        ({"label": [[0, 4, " "]]}, "must have one label for each span"),
        ({"label": [[0, 8, "A"], [5, 8, "B"]]}, "must have spans that do not overlap"),
        ({"text": None}, "must have a `text` and spans of one of"),
        ({"answer": "reject"}, "must have been accepted in Prodigy"),
    ],
)
def test_refuses(changes, message, tmp_path):
    path = write(tmp_path / "a.jsonl", {**RECORDS["doccano"], **changes})
    with pytest.raises(ValueError, match=message):
        list(kbl.data.read_spans(path))


@pytest.mark.tensorflow(reason="strings need TensorFlow")
def test_debug_counts_spans_that_do_not_fit(tmp_path):
    records = [RECORDS["doccano"], {"text": TEXT, "label": [[1, 8, "PER"]]}]
    path = write(tmp_path / "a.jsonl", *records)
    report = kbl.data.debug("token_classification", path)
    assert "1 spans begin or end inside a word ('nna Lee')" in report["files"][0]
    assert "characters 1 to 8, must begin" in report["invalid"][0]
    with pytest.warns(UserWarning, match="1 spans that do not"):
        report = kbl.data.debug("token_classification", path, misplaced="skip")
    assert report["invalid"] == []
    assert report["rows"] == {"train": 2}

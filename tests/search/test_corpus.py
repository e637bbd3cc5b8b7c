"""Texts and their ids, from lists and files."""

import json

import numpy as np
import pytest

from keras_bert_lite.search.corpus import Corpus, read_corpus


def test_places_are_ids_unless_there_are_others():
    assert [*read_corpus(["a", "b"]).ids] == [0, 1]
    assert [*read_corpus(["a", "b"], first=5).ids] == [5, 6]
    assert read_corpus(["a", "b"], ids=["x", "y"]).named
    found = read_corpus({"x": "a", "y": "b"})
    assert (found.texts, found.ids) == (["a", "b"], ["x", "y"])


def test_ids_of_numpy_are_taken_as_ids_of_python():
    assert read_corpus(["a", "b"], np.arange(2)).ids == [0, 1]
    assert read_corpus(["a", "b"], np.array(["x", "y"])).ids == ["x", "y"]
    with pytest.raises(TypeError, match=r"must be a list of ids\. Received: 'ab'"):
        read_corpus(["a", "b"], "ab")


@pytest.mark.parametrize("source", ["list", "dictionary", "lines", "table"])
def test_unknown_options_are_refused(tmp_path, source):
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "a.tsv").write_text("text\none\n")
    sources = {
        "list": ["one"],
        "dictionary": {"x": "one"},
        "lines": tmp_path / "a.txt",
        "table": tmp_path / "a.tsv",
    }
    with pytest.raises(TypeError, match="unexpected keyword argument 'hybird'"):
        read_corpus(sources[source], reading={"hybird": True})
    if source in ("list", "dictionary"):
        with pytest.raises(ValueError, match="`delimiter` must not be given unless"):
            read_corpus(sources[source], reading={"delimiter": ","})


def test_a_text_a_line(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("one\n\n  \ntwo, 2\n")
    found = read_corpus(path)
    assert (found.texts, [*found.ids]) == (["one", "two, 2"], [0, 1])
    assert read_corpus(path, ids=["x", "y"]).ids == ["x", "y"]


@pytest.mark.parametrize("name", ["corpus.jsonl", "texts.jsonl"])
def test_json_lines(tmp_path, name):
    rows = [
        {"_id": "x", "title": "One", "text": "is first"},
        {"_id": "y", "title": "", "text": "two"},
    ]
    path = tmp_path / name
    path.write_text("\n".join(map(json.dumps, rows)))
    found = read_corpus(path)
    assert (found.texts, found.ids) == (["One is first", "two"], ["x", "y"])
    if name == "corpus.jsonl":
        assert read_corpus(tmp_path) == found


def test_a_table(tmp_path):
    path = tmp_path / "texts.tsv"
    path.write_text("id\ttext\ttitle\n7\tseven\tA title is another column\n9\tnine\t\n")
    found = read_corpus(path)
    assert (found.texts, found.ids) == (["seven", "nine"], ["7", "9"])
    with pytest.raises(ValueError, match="`ids` must be None for texts that have ids"):
        read_corpus(path, ids=[1, 2])
    path.write_text("text\tlabel\nseven\tx\n")
    assert [*read_corpus(path).ids] == [0]


@pytest.mark.parametrize(
    ("texts", "ids", "message"),
    [
        ([], [], "`texts` must hold a text. Received: none"),
        (["a", " \t"], [0, 1], "`texts`, record 1: must be a string with other"),
        (["a", None], [0, 1], "record 1: must be a string"),
        (["a\ud800"], [0], "record 0: must be a string"),
        (["a", "b"], [0], "`ids` must be as many as the texts, 2. Received: 1"),
        (
            ["a", "b"],
            [0, "1"],
            r"or all whole numbers. Received: \['int",
        ),
        (["a", "b"], [0, True], "all whole numbers"),
        (["a"], [0.5], "all whole numbers"),
        (["a"], [-1], r"`ids` must be numbers from 0, .* Received: \[-1\]"),
        (["a"], [2**63], "`ids` must be numbers from 0"),
        (["a"], [""], r"strings that are not empty, .* Received: \[''\]"),
        (["a", "b", "c"], ["x", "y", "x"], r"must differ. Received twice: \['x'\]"),
    ],
)
def test_refuses(texts, ids, message):
    with pytest.raises(ValueError, match=message):
        Corpus(texts, ids)

import sys

import pytest

import keras_bert_lite as kbl

ROW = {"text": "a day", "label": "x"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "text\tlabel\na day\tx\n"),
        ("a.csv", "text,label\na day,x\n"),
        ("a.jsonl", '{"text": "a day", "label": "x"}\n'),
    ],
)
def test_files_by_their_ending(name, content, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert list(kbl.data.read(tmp_path / name)) == [ROW]
    assert list(kbl.data.read(str(tmp_path / name))) == [ROW]


def test_tagged_words(tmp_path):
    (tmp_path / "a.conll").write_text("a B-X\nday O\n", encoding="utf-8")
    found = list(kbl.data.read(tmp_path / "a.conll"))
    assert found == [{"words": ["a", "day"], "tags": ["B-X", "O"]}]


def test_other_sources():
    assert list(kbl.data.read([ROW])) == [ROW]
    frame = Frame({"text": ["a day"], "label": ["x"]})
    assert list(kbl.data.read(frame)) == [ROW]


class Frame(dict):
    """What is used of a DataFrame; the real one is in the parity suite."""

    @property
    def columns(self):
        return list(self)

    def to_dict(self):
        return dict(self)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("rows.txt", r"must be a file that ends in .*'rows.txt'"),
        ("datasets://glue", "must be datasets://NAME:SPLIT"),
        ("tfds://glue:", "must be tfds://NAME:SPLIT"),
    ],
)
def test_refuses(source, message):
    with pytest.raises(ValueError, match=message):
        kbl.data.read(source)


def test_names_the_missing_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="pip install datasets"):
        kbl.data.read("datasets://nyu-mll/glue:sst2:train")


@pytest.mark.parametrize(
    ("source", "called"),
    [
        ("datasets://imdb:train", (("imdb",), "train")),
        ("datasets://a/glue:sst2:train[:9]", (("a/glue", "sst2"), "train[:9]")),
        ("datasets://imdb:train[1%:2%]+test", (("imdb",), "train[1%:2%]+test")),
    ],
)
def test_a_part_of_a_split(source, called, monkeypatch):
    calls = []

    class Library:
        @staticmethod
        def load_dataset(*names, split):
            calls.append((names, split))
            return [ROW]

    monkeypatch.setitem(sys.modules, "datasets", Library)
    assert list(kbl.data.read(source)) == [ROW]
    assert calls == [called]

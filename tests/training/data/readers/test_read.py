import inspect
import sys

import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.data.readers.read import FORMATS, Reading

TAGGED = {"words": ["a", "day"], "tags": ["B-X", "O"]}
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


@pytest.mark.parametrize(
    ("name", "content", "options", "row"),
    [
        ("a.txt", "text\tlabel\na day\tx\n", {"format": "tsv"}, ROW),
        ("a.csv", "text\tlabel\na day\tx\n", {"format": "tsv"}, ROW),
        ("a.data", '{"text": "a day", "label": "x"}\n', {"format": "jsonl"}, ROW),
        ("a.tsv", "#\ntext\tlabel\na day\tx\n", {"comments": "#"}, ROW),
        ("a.csv", "text;label\na day;x\n", {"delimiter": ";"}, ROW),
        ("train.txt", "a B-X\nday O\n", {}, TAGGED),
        ("train.txt", "1 a B-X\n2 day O\n", {"word_column": 1}, TAGGED),
        ("a.txt", "a X-B\nday O\n", {"format": "conll", "scheme": "bio"}, TAGGED),
        ("test.iob2", "# x\na\tB-X\nday\tO\n", {"comments": "#"}, TAGGED),
    ],
)
def test_options_of_the_readers(name, content, options, row, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert list(kbl.data.read(tmp_path / name, **options)) == [row]


@pytest.mark.parametrize(
    ("name", "content", "options", "error", "message"),
    [
        ("a.tsv", "a\n", {"scheme": "bio"}, ValueError, "'tsv', whose options are"),
        ("a.jsonl", "", {"comments": "#"}, ValueError, r"options are \[\]"),
        ("a.tsv", "a\n", {"format": "xml"}, ValueError, "`format` must be one of"),
        ("a.tsv", "a\n", {"delimeter": ";"}, TypeError, "argument 'delimeter'"),
        ("a.txt", "a day\n", {}, ValueError, "`format` must be one of"),
        ("a.txt", "a O\nday O\n", {}, ValueError, "`format` must be one of"),
        ("a.txt", "a B-X\nday x O\n", {}, ValueError, "`format` must be one of"),
        ("a.txt", "B-X\nO\n", {}, ValueError, "`format` must be one of"),
    ],
)
def test_refuses_options(name, content, options, error, message, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(error, match=message):
        kbl.data.read(tmp_path / name, **options)


def test_options_are_of_files():
    with pytest.raises(ValueError, match=r"a file for the options \['delimiter'\]"):
        kbl.data.read([ROW], delimiter=";")
    with pytest.raises(ValueError, match=r"a file for the options \['format'\]"):
        kbl.data.read("datasets://imdb:train", format="csv")


def test_every_option_is_one_of_a_reader():
    known = {x for form in FORMATS.values() for x in inspect.signature(form).parameters}
    assert set(Reading.__annotations__) - {"format"} <= known


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
        ("ftp://rows", "must be a file, datasets://NAME:SPLIT or tfds:"),
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

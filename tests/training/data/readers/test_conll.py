"""read_conll."""

import pytest

from keras_bert_lite.training.data import read_conll
from tests.training.data.files import DATA, needs_data, write

CONTENT = "Ann NN I-PER\nBo NN B-PER\n. . O\n\n-DOCSTART- -X- O\n\nOslo NN I-LOC\n"
WORDS = [["Ann", "Bo", "."], ["Oslo"]]


@pytest.mark.parametrize(
    "content",
    [
        CONTENT,
        CONTENT.replace("\n", "\r\n"),
        CONTENT.replace(" ", "\t"),
        f"\ufeff-DOCSTART- -X- O\n \t\n{CONTENT.rstrip()}",
        CONTENT.replace("\n\n", "\n"),
    ],
    ids=["plain", "crlf", "tabs", "mark", "only_documents_divide"],
)
def test_reads_sentences(tmp_path, content):
    rows = read_conll(write(tmp_path, "a.txt", content))
    tags = [["I-PER", "B-PER", "O"], ["I-LOC"]]
    expected = [{"words": w, "tags": t} for w, t in zip(WORDS, tags, strict=True)]
    assert list(rows) == list(rows) == expected


def test_words_alone_have_no_tags(tmp_path):
    path = write(tmp_path, "a.txt", "Ann\nsings\n\nOslo\n")
    assert list(read_conll(path)) == [{"words": ["Ann", "sings"]}, {"words": ["Oslo"]}]


def test_schemes(tmp_path):
    path = write(tmp_path, "a.txt", CONTENT)
    tags = [row["tags"] for row in read_conll(path, scheme="bio")]
    assert tags == [["B-PER", "B-PER", "O"], ["B-LOC"]]
    tags = [row["tags"] for row in read_conll(path, scheme="bioes")]
    assert tags == [["S-PER", "S-PER", "O"], ["S-LOC"]]


def test_columns(tmp_path):
    path = write(tmp_path, "a.txt", "0|New York||B-LOC\n1|\u00a0||O\n")
    options = {"word_column": 1, "delimiter": "|"}
    assert list(read_conll(path, tag_column=None, **options)) == [
        {"words": ["New York", "\u00a0"]}
    ]
    assert next(iter(read_conll(path, **options)))["tags"] == ["B-LOC", "O"]
    with pytest.raises(ValueError, match=r"a.txt:1: column 2 must not be empty"):
        list(read_conll(path, tag_column=2, **options))
    with pytest.raises(ValueError, match=r"a.txt:1: `tag_column` must be one of 4"):
        list(read_conll(path, tag_column=4, **options))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a O\n\nb O\nc\n", "a.txt:4: must have 2 columns.*Received: 1, 'c'"),
        ("a O\nb X O\n", "a.txt:2: must have 2 columns.*Received: 3"),
        (b"a O\n\xff O\n", "a.txt:2: must be UTF-8"),
        ("a O\rb O\r\rc O\r", "a.txt:1: must be a line that ends with LF"),
        ("a O\n\nb O\nc PER\n", "a.txt:3: in the sentence that begins here.*PER"),
    ],
)
def test_names_the_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        list(read_conll(write(tmp_path, "a.txt", content), scheme="bio"))


def test_empty(tmp_path):
    for content in ("", "\n\n", "-DOCSTART- -X- O\n\n"):
        assert list(read_conll(write(tmp_path, "a.txt", content))) == []


def test_refuses_unknown_schemes(tmp_path):
    with pytest.raises(ValueError, match="`scheme` must be one of"):
        read_conll(write(tmp_path, "a.txt", ""), scheme="IOB1")


@needs_data
@pytest.mark.parametrize(
    ("name", "size"), [("train", 14_041), ("testa", 3_250), ("testb", 3_453)]
)
def test_reads_conll2003(name, size):
    rows = list(read_conll(DATA / "conll2003" / f"eng.{name}", scheme="bio"))
    assert len(rows) == size
    assert all(len(row["words"]) == len(row["tags"]) for row in rows)
    types = ("LOC", "MISC", "ORG", "PER")
    expected = {"O", *(f"{p}-{t}" for p in "BI" for t in types)}
    assert {tag for row in rows for tag in row["tags"]} == expected

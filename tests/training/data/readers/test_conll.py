"""read_conll."""

import pytest

from keras_bert_lite.training.data import read_conll
from keras_bert_lite.training.data.readers.conll import is_conll, lone_comments
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
    "tags",
    [
        ["B-PER", "M-PER", "E-PER", "O", "S-LOC"],
        ["PER-B", "PER-I", "PER-E", "O", "LOC-S"],
        ["b-PER", "i-PER", "e-PER", "o", "s-LOC"],
        ["B-PER", "I-PER", "L-PER", "O", "U-LOC"],
    ],
)
def test_spellings(tmp_path, tags):
    content = "".join(f"w {x}\n" for x in tags)
    rows = read_conll(write(tmp_path, "a.txt", content), scheme="bio")
    assert next(iter(rows))["tags"] == ["B-PER", "I-PER", "I-PER", "O", "B-LOC"]


def test_spellings_are_not_mixed(tmp_path):
    path = write(tmp_path, "a.txt", "a PER-B\n\nb S-B\n")  # of a type S, or B
    with pytest.raises(ValueError, match=r"a.txt:3: .*'S-B' and 'PER-B'"):
        list(read_conll(path, scheme="bio"))


def test_comments(tmp_path):
    content = "# id 1\tdomain=en\nAnn _ _ B-PER\n# _ _ O\n\n#x y _ O\n"
    path = write(tmp_path, "a.conll", content)
    rows = list(read_conll(path))
    assert (rows[0]["words"][0], rows[0]["tags"][0]) == ("#", "domain=en")
    assert lone_comments(path) == ["# id 1\tdomain=en"]
    rows = list(read_conll(path, comments="# "))
    assert [x["words"] for x in rows] == [["Ann", "#"], ["#x"]]
    path = write(tmp_path, "b.conll", "#\thttp://x [2009]\n1\tAnn\tB-PER\tO\n")
    with pytest.raises(ValueError, match=r"b.conll:2: .*line 1 .*`comments=\"#\"`"):
        list(read_conll(path))
    rows = list(read_conll(path, 1, 2, comments="#"))
    assert rows == [{"words": ["Ann"], "tags": ["B-PER"]}]


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
    path = DATA / "conll2003" / f"eng.{name}"
    assert is_conll(path)  # whatever its ending
    assert lone_comments(path) == []  # the word `#` is none
    assert len(rows) == size
    assert all(len(row["words"]) == len(row["tags"]) for row in rows)
    types = ("LOC", "MISC", "ORG", "PER")
    expected = {"O", *(f"{p}-{t}" for p in "BI" for t in types)}
    assert {tag for row in rows for tag in row["tags"]} == expected

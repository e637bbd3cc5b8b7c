"""read_csv, and what all readers do with lines."""

import csv
import gzip
import io
import lzma

import pytest

from keras_bert_lite.training.data import read_csv
from tests.training.data.files import DATA, needs_data, write

ROWS = [{"text": "a b", "label": "1"}, {"text": "c", "label": "0"}]
CSV = 'text,label\n"a, ""b""\nc",1\n d ,\n'
CSV_ROWS = [{"text": 'a, "b"\nc', "label": "1"}, {"text": " d ", "label": ""}]


@pytest.mark.parametrize(
    "content",
    [
        "text\tlabel\na b\t1\nc\t0\n",
        "text\tlabel\na b\t1\nc\t0",
        "text\tlabel\r\na b\t1\r\nc\t0\r\n",
        "\ufefftext\tlabel\na b\t1\n\nc\t0\n\n",
    ],
    ids=["plain", "no_final_newline", "crlf", "mark_and_empty_lines"],
)
def test_line_ends(tmp_path, content):
    assert list(read_csv(write(tmp_path, "a.tsv", content))) == ROWS


@pytest.mark.parametrize(("name", "between"), [("a.tsv", "\t"), ("a.csv", ",")])
def test_lines_that_end_with_cr_alone(tmp_path, name, between):
    path = write(tmp_path, name, f"text{between}label\ra b{between}1\r")
    with pytest.raises(ValueError, match=rf"{name}:1: must be .*Received"):
        list(read_csv(path))
    with pytest.raises(ValueError, match="ends with LF or CR LF"):
        list(read_csv(path, ["text"], quoting=False))


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_compressed(tmp_path, compress):
    name = f"a.TSV.{'gz' if compress is gzip.compress else 'xz'}"
    packed = compress(b"text\tlabel\na b\t1\nc\t0\n")
    assert list(read_csv(write(tmp_path, name, packed))) == ROWS
    path = write(tmp_path, name, packed[: len(packed) // 2])
    with pytest.raises(ValueError, match=r"a\.TSV\.[gx]z: must be a whole compressed"):
        list(read_csv(path))


def test_goes_through_files_again(tmp_path):
    one = write(tmp_path, "a.tsv", "a b\t1\n")
    two = write(tmp_path, "b.tsv", "c\t0\n")
    rows = read_csv([one, str(two)], columns=["text", "label"])
    assert list(rows) == list(rows) == ROWS


def test_reads_lazily(tmp_path):
    rows = iter(read_csv(write(tmp_path, "a.tsv", "text\na\nb\tc\n")))
    assert next(rows) == {"text": "a"}
    with pytest.raises(ValueError, match=r"a.tsv:3: must have 1 values"):
        next(rows)


def test_quotation_marks_are_data_in_tsv(tmp_path):
    path = write(tmp_path, "a.tsv", 'text\tlabel\n"a\t1\n"b"\t"0"\n')
    expected = [{"text": '"a', "label": "1"}, {"text": '"b"', "label": '"0"'}]
    assert list(read_csv(path)) == expected
    assert list(read_csv(write(tmp_path, "e.tsv", "a\x85b\u2028c\x0bd\n"), ["x"])) == [
        {"x": "a\x85b\u2028c\x0bd"}
    ]


def test_quoting(tmp_path):
    path = write(tmp_path, "a.csv", CSV)
    assert list(read_csv(path)) == CSV_ROWS == list(csv.DictReader(io.StringIO(CSV)))
    crlf = write(tmp_path, "crlf.csv", "\ufeff" + CSV.replace("\n", "\r\n"))
    assert list(read_csv(crlf)) == [{"text": 'a, "b"\r\nc', "label": "1"}, CSV_ROWS[1]]
    semicolons = write(tmp_path, "a.txt", 'a;b\n"1;2";3\n')
    assert list(read_csv(semicolons, delimiter=";")) == [{"a": "1;2", "b": "3"}]
    unquoted = read_csv(write(tmp_path, "b.csv", 'a,b\n"1,2"\n'), quoting=False)
    assert list(unquoted) == [{"a": '"1', "b": '2"'}]


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('text\tlabel\n"""No"", he said"\t1\nb\t0\n', ['"No", he said', "b"]),
        ('"text"\t"label"\n"Yes"\t1\n"b\nc"\t0\n', ["Yes", "b\nc"]),
        ('text\tlabel\n"a ""b"""\t1\n"c\td"\t0\n', ['a "b"', "c\td"]),
        ('text\tlabel\n"a ""b"""\t1\n"c, d"\t0\n', ['a "b"', "c, d"]),
        # Not as programs quote: marks of the texts.
        ('text\tlabel\n"Yes"\t1\nb\t0\n', ['"Yes"', "b"]),
        ('text\tlabel\n"a ""b"""\t1\n5" disk\t0\n', ['"a ""b"""', '5" disk']),
        ('text\tlabel\n"a ""b"""\t1\n"c"\t0\n', ['"a ""b"""', '"c"']),
    ],
)
def test_quoted_values_between_tabs_are_recognized(tmp_path, content, texts):
    path = write(tmp_path, "a.tsv", content)
    assert [x["text"] for x in read_csv(path)] == texts
    plain = read_csv(path, quoting=False, extra_values="ignore")
    if "b\nc" not in texts:
        assert next(iter(plain)).popitem()[1] == "1"


@pytest.mark.parametrize(
    ("content", "options", "line"),
    [
        ('label\ttext\n1\t"a\nb\tc"\n', {}, 2),  # one row, or two
        ('label\ttext\n1\t"a\n""\tc"\n', {}, 2),
        ('1\t"Yes"\n0\t"No"\n', {"columns": ["label", "text"]}, 1),
    ],
)
def test_values_that_may_be_quoted_are_refused(tmp_path, content, options, line):
    path = write(tmp_path, "a.tsv", content)
    message = rf"a.tsv:{line}: may be read in two ways.*`quoting=True`.*`quoting=False`"
    with pytest.raises(ValueError, match=message):
        list(read_csv(path, **options))
    for quoting in (True, False):
        assert list(read_csv(path, quoting=quoting, **options))


def test_comments(tmp_path):
    content = '# a\ntext,label\n# "b\n"# c\n# d",1\n#x,0\n'
    rows = read_csv(write(tmp_path, "a.csv", content), comments="# ")
    assert [x["text"] for x in rows] == ["# c\n# d", "#x"]
    path = write(tmp_path, "a.tsv", "a\tb\n# x\n1\t2\n")
    with pytest.raises(ValueError, match=r'a.tsv:2: .*; `comments="#"` skips'):
        list(read_csv(path))
    assert list(read_csv(path, comments="#")) == [{"a": "1", "b": "2"}]


def test_extra_values(tmp_path):
    path = write(tmp_path, "a.tsv", "a\tb\n1\t2\t3\t4\n5\t6\n")
    with pytest.raises(ValueError, match=r'a.tsv:2: .*`extra_values="ignore"`'):
        list(read_csv(path))
    rows = list(read_csv(path, extra_values="ignore"))
    assert [[*x.values()] for x in rows] == [["1", "2"], ["5", "6"]]
    path = write(tmp_path, "b.tsv", "a\tb\n1\n")
    with pytest.raises(ValueError, match=r"b.tsv:2: must have 2 values"):
        list(read_csv(path, extra_values="ignore"))


def test_other_delimiters_are_named(tmp_path):
    path = write(tmp_path, "a.csv", "text;label\nb, c;0\n")
    with pytest.raises(ValueError, match=r"a.csv:1: .*`delimiter` .*';' perhaps"):
        list(read_csv(path))
    assert list(read_csv(path, delimiter=";")) == [{"text": "b, c", "label": "0"}]
    with pytest.raises(ValueError, match=r"a.csv:1: must have 2 .*`delimiter` .*';'"):
        list(read_csv(path, ["text", "label"]))
    one = write(tmp_path, "b.csv", "a;b\nx\n")
    assert list(read_csv(one, delimiter=",")) == [{"a;b": "x"}]


def test_converters(tmp_path):
    path = write(tmp_path, "a.tsv", "text\tlabel\na\t1\nb\tx\n")
    rows = iter(read_csv(path, converters={"label": int}))
    assert next(rows) == {"text": "a", "label": 1}
    with pytest.raises(ValueError, match=r"a.tsv:3: column 'label' .*Received: 'x'"):
        next(rows)
    with pytest.raises(ValueError, match=r"`converters` must .*Received: \['score'\]"):
        list(read_csv(path, converters={"score": float}))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "a\tb\n1\t2\t3\n", r"a.tsv:2: must have 2 values.*Received: 3"),
        ("a.tsv", "a\tb\n\n1\n", r"a.tsv:3: must have 2 values.*Received: 1"),
        ("a.tsv", b"a\n\xff\n", r"a.tsv:2: must be UTF-8.*at byte 0, b'\\xff'"),
        ("a.tsv", "a\n".encode("utf-16"), "a.tsv:1: must be UTF-8"),
        ("a.tsv", "", r"a.tsv: must begin with the columns' names. It is empty"),
        ("a.tsv", "a\ta\n", "a.tsv:1: the columns must be different names"),
        ("a.csv", 'a,b\n1,2\n"3\n4,5', "a.csv:3: must be a row of values"),
        ("a.csv", 'a\n"1\n2"\n"3"4\n', "a.csv:4: must be a row of values"),
        ("a.csv", 'a,b\n"1\n2",3\n4\n', "a.csv:4: must have 2 values"),
        ("a.csv", "a,b\n1,2\n3,4\r\n", "a.csv:3: must end with LF, as the first"),
        ("a.tsv", "a\tb\n1\t2\r\n", "a.tsv:2: must end with LF, as the first"),
        ("a.csv", "a,b\n1,2\r", "a.csv:2: must be a line that ends with LF"),
        ("a.tsv", "a\n1\n\n2\n", "a.tsv:3: must not be empty in a table of one"),
        ("a.tsv", "\na\n1\n", "a.tsv:1: must not be empty in a table of one"),
        ("a.csv", "# b\na,b\n1,2\n", 'a.csv:1: .*; `comments="#"` skips'),
    ],
)
def test_names_the_line(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        list(read_csv(write(tmp_path, name, content)))


def test_empty(tmp_path):
    assert list(read_csv(write(tmp_path, "a.tsv", ""), columns=["a"])) == []
    assert list(read_csv(write(tmp_path, "b.csv", "a,b\n"))) == []


def test_refuses_arguments(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"`path` must be a file. .*none\.tsv"):
        read_csv(tmp_path / "none.tsv")
    with pytest.raises(TypeError, match="`path` must be a path or a list"):
        read_csv(3)
    with pytest.raises(ValueError, match="`delimiter` must be given"):
        read_csv(write(tmp_path, "a.txt", ""))
    with pytest.raises(ValueError, match="`delimiter` must be one character"):
        read_csv(write(tmp_path, "a.tsv", ""), delimiter="||")
    with pytest.raises(ValueError, match="`comments` must be what lines begin with"):
        read_csv(write(tmp_path, "a.tsv", ""), comments="")
    with pytest.raises(ValueError, match="`columns` must be different names"):
        read_csv(write(tmp_path, "a.tsv", ""), columns="text")


@needs_data
@pytest.mark.parametrize(
    ("name", "columns", "sizes"),
    [
        ("SST-2", None, (67_349, 872)),
        ("CoLA", ["source", "label", "star", "sentence"], (8_551, 1_043)),
        ("MRPC", None, (3_667, 408)),
        ("RTE", None, (2_490, 277)),
        ("STS-B", None, (5_749, 1_500)),
    ],
)
def test_reads_glue(name, columns, sizes):
    for split, size in zip(("train", "dev"), sizes, strict=True):
        path = DATA / "glue" / name / f"{split}.tsv"
        rows = list(read_csv(path, columns))
        lines = path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
        assert len(rows) == size
        assert ["\t".join(row.values()) for row in rows] == lines[columns is None :]

import functools
import gzip
import lzma
import operator

import pytest

from keras_bert_lite.pretraining.data.corpus import (
    documents,
    read_chunks,
    split_sentences,
)

TEXT = "A line.\nAnother.\n\nA second text.\n\n\n  \nThird \u00e9.\r\n\r\nFourth.\r\n"
DOCUMENTS = [
    ["A line.", "Another."],
    ["A second text."],
    ["Third \u00e9."],
    ["Fourth."],
]


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def read(paths, size=1 << 20, split=None):
    return [list(documents(chunk, split)) for chunk in read_chunks(paths, size)]


@pytest.mark.parametrize("size", [16, 20, 1000])
@pytest.mark.parametrize("pack", [None, gzip, lzma])
def test_documents(tmp_path, size, pack):
    suffix = {None: "txt", gzip: "gz", lzma: "xz"}[pack]
    data = TEXT.encode() if pack is None else pack.compress(TEXT.encode())
    chunks = read([write(tmp_path / f"a.{suffix}", data)], size)
    assert functools.reduce(operator.iadd, chunks, []) == DOCUMENTS
    assert (len(chunks) == 1) == (size == 1000)


def test_a_chunk_is_as_large_as_is_asked_for(tmp_path):
    texts = [f"document {i} " * (i % 7) + "\n\n" for i in range(500)]
    longest = max(map(len, texts))
    *sizes, last = (
        sum(len(part.data) for part in chunk)
        for chunk in read_chunks([write(tmp_path / "a", "".join(texts))], 256)
    )
    assert min(sizes) >= 256
    assert max(*sizes, last) < 256 + longest
    assert sum(sizes) + last == sum(map(len, texts))


def test_a_short_document_before_one_too_long(tmp_path):
    path = write(tmp_path / "a", "short\n\n" + "word " * 20)
    with pytest.warns(UserWarning, match="a:3: a document of more than 80 bytes"):
        chunks = read([path], 20)
    assert chunks[0][0] == ["short"]


def test_files_share_a_chunk_and_end_a_document(tmp_path):
    paths = [write(tmp_path / f"{i}", f"file {i}") for i in range(5)]
    assert read(paths, 13) == [
        [["file 0"], ["file 1"], ["file 2"]],
        [["file 3"], ["file 4"]],
    ]


def test_empty_files_give_nothing(tmp_path):
    assert read([write(tmp_path / "a", ""), write(tmp_path / "b", " \n\n")]) == []


def test_byte_order_mark_is_no_text(tmp_path):
    assert read([write(tmp_path / "a", b"\xef\xbb\xbfword")]) == [[["word"]]]


@pytest.mark.parametrize("end", ["\n", " ", ""])
def test_a_document_too_long_is_cut(tmp_path, end):
    text = (f"w\u00f6rd{end}" if end else "\u00e9\u20ac\U0001f600") * 50
    path = write(tmp_path / "a", text)
    with pytest.warns(UserWarning, match="a document of more than 80 bytes is cut"):
        chunks = read([path], 20)
    assert len(chunks) > 2
    found = [
        sentence for chunk in chunks for document in chunk for sentence in document
    ]
    assert "".join(found).replace(" ", "") == "".join(text.split())


def test_names_the_line_that_is_not_utf8(tmp_path):
    path = write(tmp_path / "a", b"one\n\ntwo\nthr\xffee\n\nfour\n" * 2)
    with pytest.raises(ValueError, match=r"a:4: must be UTF-8. Received: .* b'\\xffee"):
        read([path], 5)
    path = write(tmp_path / "a", b"one\n\ntwo\nthree\n\nfour\xe2\x82")
    with pytest.raises(ValueError, match="a:6: must be UTF-8"):
        read([path], 5)


def test_half_a_compressed_file(tmp_path):
    path = write(tmp_path / "a.gz", gzip.compress(TEXT.encode() * 100)[:-20])
    with pytest.raises(ValueError, match="must be a whole compressed file"):
        read([path])


def test_sentences_of_paragraphs():
    texts = ["One fine day. It rained! Did it?", "", "No end"]
    assert split_sentences(texts) == [
        ["One fine day.", "It rained!", "Did it?"],
        [],
        ["No end"],
    ]

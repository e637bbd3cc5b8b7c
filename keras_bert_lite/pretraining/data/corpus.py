"""Reading text files as chunks of documents, in constant memory."""

import bisect
import itertools
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from keras_bert_lite._tensorflow import tf_text
from keras_bert_lite.text.text_files import BOM, BROKEN, opened

BLOCK, SMALLEST_BLOCK = 1 << 20, 16  # bytes read at a time
BLANKS = (b"\n\n", b"\n\r\n")
LONGEST = 4  # documents longer than this many chunks are cut

Document = list[str]  # its sentences
Splitter = Callable[[Sequence[str]], list[list[str]]]


class Part(NamedTuple):
    """A piece of a file that begins and ends with a document."""

    path: Path
    line: int  # number of its first line in the file, from 1
    data: bytes


Chunk = list[Part]


def read_chunks(paths: Sequence[Path], size: int) -> Iterator[Chunk]:
    """Reads files in chunks of whole documents.

    A file is cut into parts, each ending with the document that brings it to `size`
    bytes. A chunk ends with the part that brings it to `size` bytes, so it may
    contain several small files.

    A document ends at a blank line or at the end of its file. A document longer
    than four times `size` is cut, at a line end if there is one, with a warning.
    Files with the suffix `.gz` or `.xz` are decompressed.

    Args:
        paths: The files.
        size: The size of a chunk in bytes, after decompression.

    Returns:
        The chunks, always the same for the same files and size.

    Raises:
        ValueError: If a compressed file is truncated or corrupt.
    """
    chunk: Chunk = []
    held = 0
    for path in paths:
        for part in _read_parts(path, size):
            chunk.append(part)
            held += len(part.data)
            if held >= size:
                yield chunk
                chunk, held = [], 0
    if chunk:
        yield chunk


def documents(chunk: Chunk, split: Splitter | None = None) -> Iterator[Document]:
    """Yields the documents of a chunk that are not empty.

    Args:
        chunk: A chunk from `read_chunks`.
        split: Splits texts into sentences; `None`: each line is a sentence.

    Raises:
        ValueError: If the text is not UTF-8; the message has the file and line.
    """
    for part in chunk:
        lines = [line.strip() for line in _decoded(part).split("\n")]
        between = (list(x) for filled, x in itertools.groupby(lines, bool) if filled)
        if split is None:
            yield from between
            continue
        sentences = iter(split([line for line in lines if line]))
        for texts in between:
            document = [x for _ in texts for x in next(sentences)]
            if document:
                yield document


def splitter(sentences: str) -> Splitter | None:
    """Returns the `split` argument of `documents` for `"lines"` or `"split"`."""
    return split_sentences if sentences == "split" else None


def split_sentences(texts: Sequence[str]) -> list[list[str]]:
    """Splits texts into sentences at their punctuation.

    Args:
        texts: Texts, such as paragraphs.

    Returns:
        The sentences of each text.

    Reference: `StateBasedSentenceBreaker` in tensorflow-text.
    """
    sentences = tf_text.StateBasedSentenceBreaker().break_sentences(list(texts))
    found = [[x.decode().strip() for x in row] for row in sentences.to_list()]
    return [[x for x in row if x] for row in found]


def _read_parts(path: Path, size: int) -> Iterator[Part]:
    line, held = 1, b""
    for block in _blocks(path, min(BLOCK, max(size, SMALLEST_BLOCK))):
        held += block
        while end := _end_of_part(held, size, f"{path}:{line}"):
            yield Part(path, line, held[:end])
            line += held.count(b"\n", 0, end)
            held = held[end:]
    if held.strip():
        yield Part(path, line, held)


def _end_of_part(held: bytes, size: int, location: str) -> int:
    """Returns where a part ends, 0 if more must be read first."""
    end = _first_document_end(held, size)
    if end or len(held) < LONGEST * size:
        return end
    if end := _last_document_end(held):
        return end
    warnings.warn(
        f"{location}: a document of more than {LONGEST * size} bytes is cut. Is there "
        "a blank line between documents?",
        stacklevel=4,
    )
    return _place_to_cut(held)


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    with opened(path) as file:
        first = True
        while block := _read(file, path, size):
            yield block.removeprefix(BOM) if first else block
            first = False


def _read(file: IO[bytes], path: Path, size: int) -> bytes:
    try:
        return file.read(size)
    except BROKEN as error:
        raise ValueError(
            f"{path}: must be a whole compressed file. Received: {error}"
        ) from error


def _first_document_end(data: bytes, size: int) -> int:
    """Returns the end of the first blank line after `size` bytes, or 0."""
    starts = ((data.find(blank, max(size - len(blank), 0)), blank) for blank in BLANKS)
    return min((at + len(blank) for at, blank in starts if at >= 0), default=0)


def _last_document_end(data: bytes) -> int:
    starts = ((data.rfind(blank), blank) for blank in BLANKS)
    return max((at + len(blank) for at, blank in starts if at > 0), default=0)


def _place_to_cut(data: bytes) -> int:
    """Returns a cut after the last line end, else space, else whole character."""
    for mark in (b"\n", b" "):
        end = data.rfind(mark) + 1
        if end:
            return end
    end = len(data)
    while end > len(data) - 4 and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    return end - 1  # before a possibly incomplete character


def _decoded(part: Part) -> str:
    try:
        return part.data.decode()
    except UnicodeDecodeError as error:
        ends = [match.start() for match in re.finditer(b"\n", part.data)]
        line = part.line + bisect.bisect_left(ends, error.start)
        raise ValueError(
            f"{part.path}:{line}: must be UTF-8. Received: {error.reason}, "
            f"{part.data[error.start : error.start + 8]!r}"
        ) from None

"""Reading lines of text files, with file and line number for error messages."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from keras_bert_lite.text.text_files import BOM, BROKEN, opened

Paths = str | os.PathLike | Sequence[str | os.PathLike]


class Line(NamedTuple):
    """A line without its end; `number` counts from 1."""

    path: Path
    number: int
    text: str

    def error(self, message: str) -> ValueError:
        return ValueError(f"{self.path}:{self.number}: {message}")


def as_paths(path: Paths, argument: str = "path") -> list[Path]:
    """Returns one path or several as a list.

    Args:
        path: The path or paths.
        argument: Its name in error messages.

    Raises:
        TypeError: If it is neither a path nor a list of paths.
        FileNotFoundError: If a path is not a file.
    """
    several = [path] if isinstance(path, (str, os.PathLike)) else path
    try:
        paths = [Path(each) for each in several]
    except TypeError:
        raise TypeError(
            f"`{argument}` must be a path or a list of paths. Received: {path!r}"
        ) from None
    for each in paths:
        if not each.is_file():
            raise FileNotFoundError(
                f"`{argument}` must be a file. Received: {str(each)!r}"
            )
    return paths


def read_lines(path: Path, keep_ends: bool = False) -> Iterator[Line]:
    """Reads the lines of a UTF-8 file, one at a time.

    A line ends with LF or CR LF, or at the end of the file. A byte order mark is
    removed. Files with the suffix `.gz` or `.xz` are decompressed.

    Args:
        path: Of the file.
        keep_ends: Whether texts keep their line ends.

    Raises:
        ValueError: If a line is not UTF-8, or a compressed file is truncated or
            corrupt.
    """
    with opened(path) as file:
        try:
            yield from lines_of(file, path, keep_ends)
        except BROKEN as error:
            raise ValueError(
                f"{path}: must be a whole compressed file. Received: {error}"
            ) from error


def lines_of(
    file: Iterable[bytes], path: Path, keep_ends: bool = False
) -> Iterator[Line]:
    """Decodes the lines of a file that is open; see `read_lines`."""
    for number, line in enumerate(file, 1):
        yield _decoded(path, number, line, keep_ends)


def read_rows(path: Path) -> Iterator[Line]:
    """Reads the lines of a file in which each line is a row.

    Raises:
        ValueError: As `read_lines`; or if a line contains a CR. A file whose lines
            end with CR alone would otherwise be read as one row.
    """
    for line in read_lines(path):
        check_no_cr(line, line.text)
        yield line


def check_no_cr(line: Line, text: str) -> None:
    """Refuses a row with a CR, which may be the end of one."""
    if "\r" in text:
        raise line.error(
            "must be a line that ends with LF or CR LF, without another CR. "
            f"Received: {line.text[:200]!r}"
        )


def check_comments(comments: str | None) -> None:
    """Refuses a beginning of comments that all lines have, or that is no string."""
    if comments is not None and (not isinstance(comments, str) or not comments):
        raise ValueError(
            "`comments` must be what lines begin with that are skipped, such as '#'. "
            f"Received: {comments!r}"
        )


def read_text(path: Path) -> str:
    """Reads a whole file as `read_lines` does."""
    return "\n".join(line.text for line in read_lines(path))


def suffix(path: Path) -> str:
    """Returns the suffix of the format, such as `.tsv` for `a.tsv.gz`."""
    packed = path.suffix in (".gz", ".xz")
    return (path.with_suffix("") if packed else path).suffix.lower()


def _decoded(path: Path, number: int, line: bytes, keep_ends: bool) -> Line:
    if number == 1:
        line = line.removeprefix(BOM)
    if not keep_ends:
        line = line.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return Line(path, number, line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}:{number}: must be UTF-8. Received: {error.reason} at byte "
            f"{error.start}, {line[error.start : error.start + 8]!r}"
        ) from None

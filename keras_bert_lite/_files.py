"""Files and directories that appear whole or not at all.

What is written lies in a draft, a hidden folder beside its place, and moves there
when it is complete: an interrupted write leaves the old one whole. A draft is locked
while its writer lives. So what killed writers left is told from what others are
writing, and is removed by the next one.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

DRAFT = ".draft-"  # begins the names of drafts
LOCK = "keras_bert_lite.lock"  # is in each of them, with these two folders
NEW, OLD = "new", "old"


@contextlib.contextmanager
def replaced_file(path: Path, tidy: bool = True) -> Iterator[Path]:
    """Gives a path that takes the place of the file `path` if all goes well.

    Args:
        path: What to write; folders above it are made.
        tidy: Whether what killed writers left beside it is removed. Who writes
            many files into one directory calls `remove_left_over` once.
    """
    with _draft(path.parent, tidy) as draft:
        made = draft / NEW / path.name
        yield made
        made.replace(path)


def write_text(path: Path, text: str, tidy: bool = True) -> None:
    """Writes a file as `replaced_file` does."""
    with replaced_file(path, tidy) as draft:
        draft.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Gives a folder that becomes the directory `path` if all goes well."""
    with _draft(path.parent) as draft:
        made = draft / NEW / path.name
        made.mkdir()
        yield made
        made.rename(path)


@contextlib.contextmanager
def replaced_directory(directory: str | os.PathLike, marker: str) -> Iterator[Path]:
    """Gives a folder that takes the place of `directory` if all goes well.

    Args:
        directory: What to write. If it is there and not empty, it must be of
            the same kind, told by a file in it, and is replaced.
        marker: Name of that file.

    Raises:
        ValueError: If `directory` is a file, or holds something else.
    """
    target = Path(directory)
    if target.exists() and not target.is_dir():
        raise ValueError(
            f"`directory` must not be a file. Received: {os.fspath(target)!r}"
        )
    if target.is_dir() and any(target.iterdir()) and not (target / marker).is_file():
        raise ValueError(
            f"`directory` must be new, empty, or hold a {marker}, to be replaced. "
            f"Received: {os.fspath(target)!r}, which holds other files"
        )
    with _draft(target.parent) as draft:
        made = draft / NEW / target.name
        made.mkdir()
        yield made
        if target.is_dir():
            target.rename(draft / OLD / target.name)
        made.rename(target)


def remove_left_over(folder: Path) -> None:
    """Removes the drafts of writers that were killed.

    Where locks are not known, as on some network file systems, all of them stay.
    """
    for lock in folder.glob(f"{DRAFT}*/{LOCK}"):
        with contextlib.suppress(OSError):  # it is another's, or just went
            descriptor = os.open(lock, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(lock.parent)
            finally:
                os.close(descriptor)


@contextlib.contextmanager
def _draft(folder: Path, tidy: bool = True) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    if tidy:
        remove_left_over(folder)
    draft, descriptor = _locked_draft(folder)
    try:
        (draft / NEW).mkdir()
        (draft / OLD).mkdir()
        yield draft
    finally:
        _remove(draft)
        os.close(descriptor)


def _locked_draft(folder: Path) -> tuple[Path, int]:
    """Makes a draft; its lock ends with the descriptor, or with the process."""
    while True:
        draft = Path(tempfile.mkdtemp(prefix=DRAFT, dir=folder))
        lock = draft / LOCK
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
        with contextlib.suppress(OSError):  # of file systems without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if lock.exists():
            return draft, descriptor
        os.close(descriptor)  # another process took it for left over in between


def _remove(draft: Path) -> None:
    """Removes a draft; what it has taken from its place and not replaced goes back."""
    for old in (draft / OLD).glob("*"):
        place = draft.parent / old.name
        if not place.exists():
            old.rename(place)
    for part in (NEW, OLD, ""):  # the lock goes last
        shutil.rmtree(draft / part, ignore_errors=True)

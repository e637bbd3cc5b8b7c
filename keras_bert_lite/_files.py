"""Atomic writes of files and directories.

New content is written to a draft, a hidden folder next to the target, and moved to the
target when it is complete. An interrupted write leaves the old content intact. Drafts
are locked while their writer is alive, so the next writer can remove those of killed
writers.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

DRAFT = ".draft-"  # prefix of the names of drafts
LOCK = "keras_bert_lite.lock"  # every draft has this file and two folders
NEW, OLD = "new", "old"


@contextlib.contextmanager
def replaced_file(path: Path, tidy: bool = True) -> Iterator[Path]:
    """Yields a path to write to, which replaces the file `path` on success.

    Args:
        path: The file. Missing parent directories are created.
        tidy: Whether to remove the drafts of killed writers next to it. To write
            many files into one directory, call `remove_left_over` once instead.

    Raises:
        IsADirectoryError: If it is a directory.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory, where a file is to be written")
    with _draft(path.parent, tidy) as draft:
        made = draft / NEW / path.name
        yield made
        made.replace(path)


def write_text(path: Path, text: str, tidy: bool = True) -> None:
    """Writes a text file atomically; see `replaced_file`."""
    with replaced_file(path, tidy) as draft:
        draft.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Yields a folder to fill, which becomes the directory `path` on success."""
    with _draft(path.parent) as draft:
        made = draft / NEW / path.name
        made.mkdir()
        yield made
        made.rename(path)


@contextlib.contextmanager
def replaced_directory(directory: str | os.PathLike, marker: str) -> Iterator[Path]:
    """Yields a folder to fill, which replaces `directory` on success.

    Args:
        directory: The directory. A non-empty one is replaced only if it contains
            the file `marker`, which shows that it is of the same kind.
        marker: The name of that file.

    Raises:
        ValueError: If `directory` is a file, or holds other files.
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
    """Removes the drafts of killed writers.

    File systems without locks, such as some network file systems, keep all drafts.
    """
    for lock in folder.glob(f"{DRAFT}*/{LOCK}"):
        with contextlib.suppress(
            OSError
        ):  # a live writer holds it, or it was just removed
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
    """Makes a draft, locked until its descriptor is closed or the process ends."""
    while True:
        draft = Path(tempfile.mkdtemp(prefix=DRAFT, dir=folder))
        lock = draft / LOCK
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
        with contextlib.suppress(OSError):  # the file system has no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if lock.exists():
            return draft, descriptor
        os.close(descriptor)  # another process has removed it in between


def _remove(draft: Path) -> None:
    """Removes a draft and restores a target that was moved and not replaced."""
    for old in (draft / OLD).glob("*"):
        target = draft.parent / old.name
        if not target.exists():
            old.rename(target)
    for part in (NEW, OLD, ""):  # the lock is removed last
        shutil.rmtree(draft / part, ignore_errors=True)

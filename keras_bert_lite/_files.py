"""Atomic writes of files and directories.

New content is written to a draft, a hidden folder next to the target, and moved to the
target when it is complete. An interrupted write leaves the old content intact. Drafts
are locked while their writer is alive, so the next writer can remove those of killed
writers.
"""

import contextlib
import errno
import fcntl
import json
import math
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

DRAFT = ".draft-"  # prefix of the names of drafts
LOCK = "keras_bert_lite.lock"  # every draft has this file and two folders
NEW, OLD = "new", "old"
FULL = (errno.ENOSPC, errno.EDQUOT)
ALMOST_NOTHING = 64 << 10  # bytes free on a disk that is full


class FullDisk(OSError):
    """A disk is full; `filename` is what was to be written."""


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
    with _draft(path, tidy) as draft:
        made = draft / NEW / path.name
        yield made
        made.replace(path)


def write_text(path: Path, text: str, tidy: bool = True) -> None:
    """Writes a text file atomically; see `replaced_file`."""
    with replaced_file(path, tidy) as draft:
        draft.write_text(text, encoding="utf-8")


def to_json(value: Any, **options: Any) -> str:
    """Returns JSON, which has no NaN and no infinity: `null` stands for them.

    Args:
        value: A JSON value.
        **options: Options of `json.dumps`.
    """
    return json.dumps(_with_null(value), allow_nan=False, **options)


def _with_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_null(x) for name, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_null(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextlib.contextmanager
def draft_directory(folder: Path, name: str = "draft") -> Iterator[Path]:
    """Yields a folder to fill and to move by `move_to_new`; it is removed if it stays.

    Args:
        folder: Where it is made.
        name: Its name.
    """
    with _draft(folder / name) as draft:
        made = draft / NEW / name
        made.mkdir()
        yield made


def move_to_new(draft: Path, path: Path) -> None:
    """Moves a complete directory to a path that must not exist.

    Raises:
        FileExistsError: If it does: another process may just have written it.
    """
    try:
        draft.rename(path)
    except OSError as error:
        if not path.exists():
            raise
        raise FileExistsError(
            f"{path} must not exist. Another process wrote it in the meantime"
        ) from error


def check_directory(directory: str | os.PathLike) -> None:
    """Refuses a path where no directory is or can be made.

    Raises:
        ValueError: If it, or what it would lie in, is a file or a device.
    """
    path = Path(directory)
    there = next(x for x in (path, *path.absolute().parents) if x.exists())
    if not there.is_dir():
        raise ValueError(
            "`directory` must not be, or be in, a file. "
            f"Received: {os.fspath(directory)!r}"
        )


@contextlib.contextmanager
def folder_to_fill(folder: Path) -> Iterator[None]:
    """Makes a directory; if it is still empty after an error, it is removed again."""
    new = [x for x in (folder, *folder.parents) if not x.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for path in new:
            with contextlib.suppress(OSError):  # it is not empty
                path.rmdir()
        raise


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Yields a folder to fill, which becomes the directory `path` on success.

    Raises:
        FileExistsError: If it exists by then.
    """
    with draft_directory(path.parent, path.name) as draft:
        yield draft
        move_to_new(draft, path)


@contextlib.contextmanager
def replaced_directory(
    directory: str | os.PathLike, marker: str, names: Collection[str] | None = None
) -> Iterator[Path]:
    """Yields a folder to fill, which replaces `directory` on success.

    Of several processes that replace it at once, the last one's content stays.

    Args:
        directory, marker, names: See `check_replaceable`.

    Raises:
        ValueError: See `check_replaceable`.
    """
    target = Path(directory)
    check_replaceable(target, marker, names)
    with _draft(target) as draft:
        made = draft / NEW / target.name
        made.mkdir()
        yield made
        with _locked(target.parent):
            check_replaceable(target, marker, names)
            if target.is_dir():
                target.rename(draft / OLD / target.name)
            made.rename(target)


def check_replaceable(
    directory: Path, marker: str, names: Collection[str] | None = None
) -> None:
    """Raises an error unless a directory may be written, or replaced.

    Args:
        directory: The directory. A non-empty one is replaced only if it contains
            the file `marker`, which shows that it is of the same kind.
        marker: The name of that file.
        names: The names that directories of this kind have in them; one that holds
            others too is refused. `None`: any.

    Raises:
        ValueError: If `directory` is or lies in a file, or holds other files.
    """
    check_directory(directory)
    found = {x.name for x in directory.iterdir()} if directory.is_dir() else set()
    others = set() if names is None else found - {*names}
    if found and (marker not in found or others):
        raise ValueError(
            f"`directory` must be new, empty, or hold a {marker}"
            f"{'' if names is None else ' and what belongs to it'}, to be replaced. "
            f"Received: {os.fspath(directory)!r}, which holds other files"
        )


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
def _draft(path: Path, tidy: bool = True) -> Iterator[Path]:
    """Yields the draft of a file or a directory."""
    with folder_to_fill(path.parent), full_disk_by_name(path):
        if tidy:
            remove_left_over(path.parent)
        draft, descriptor = _locked_draft(path.parent)
        try:
            (draft / NEW).mkdir()
            (draft / OLD).mkdir()
            with full_disk_by_name(path):  # before the draft's space is free again
                yield draft
        finally:
            _remove(draft)
            os.close(descriptor)


@contextlib.contextmanager
def full_disk_by_name(path: Path) -> Iterator[None]:
    """Names the disk and the file where writing failed because the disk is full.

    Libraries that write (h5py, NumPy, safetensors, TensorFlow) each say it in another
    way, so it is the disk that is asked.
    """
    try:
        yield
    except Exception as error:
        free = shutil.disk_usage(path.parent).free
        full = isinstance(error, OSError) and error.errno in FULL
        if isinstance(error, FullDisk) or not (full or free < ALMOST_NOTHING):
            raise
        raise FullDisk(
            errno.ENOSPC,
            f"The disk must have room for what is written. Received: {free} bytes "
            f"free, of {path.parent.absolute()}",
            os.fspath(path),
        ) from error


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Waits until no other process holds the lock of a folder, and holds it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # the file system has no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
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

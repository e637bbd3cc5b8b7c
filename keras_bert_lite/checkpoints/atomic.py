"""Writing a directory so that an interrupted write leaves the old one whole."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced_directory(directory: str | os.PathLike, marker: str) -> Iterator[Path]:
    """Gives a folder beside `directory` that takes its place if all goes well.

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
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=target.parent))
    try:
        yield draft
        draft.chmod(0o755)  # others may read what one user writes
        if target.is_dir():
            old = Path(tempfile.mkdtemp(prefix=".old-", dir=target.parent))
            target.rename(old / "old")
            draft.rename(target)
            shutil.rmtree(old)
        else:
            draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)

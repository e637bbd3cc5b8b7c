"""Files on object stores, by Apache Beam's file systems (extra `beam`).

A path with a scheme, such as `gs://bucket/folder`, is read and written by Beam's
`FileSystems`, which must know the scheme (`apache-beam[gcp]`, `[aws]`, `[azure]`).
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems


def is_remote(path: str | os.PathLike) -> bool:
    """Returns whether a path has a scheme."""
    return FileSystems.get_scheme(os.fspath(path)) is not None


def files_under(folder: str) -> list[str]:
    """Returns the paths of the files in a remote folder and below, from there."""
    start = folder.rstrip("/") + "/"
    found = FileSystems.match([start + "**"])[0].metadata_list
    return sorted(x.path.removeprefix(start) for x in found)


def fetch(path: str, target: Path) -> None:
    """Copies a remote file to a local one, as it is, compressed or not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with _opened(path) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file)


@contextlib.contextmanager
def local_folder(path: str) -> Iterator[Path]:
    """Yields a folder as it is or, if it is remote, a temporary copy of it."""
    if not is_remote(path):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in files_under(path):
            fetch(f"{path.rstrip('/')}/{name}", Path(folder) / name)
        yield Path(folder)


def _opened(path: str):
    return FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)

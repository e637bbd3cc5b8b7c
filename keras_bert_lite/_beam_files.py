"""Files on object stores, by Apache Beam's file systems (extra `beam`).

A path with a scheme, such as `gs://bucket/folder`, is read and written by Beam's
`FileSystems`, which must know the scheme (`apache-beam[gcp]`, `[aws]`, `[azure]`).
"""

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

# Beam would decompress by suffix, and not notice a file that ends too early.
AS_IT_IS = {"compression_type": CompressionTypes.UNCOMPRESSED}


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A file on an object store, with what readers of text need of a `Path`."""

    path: str

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.path).suffix

    def is_file(self) -> bool:
        return FileSystems.exists(self.path)

    def open(self, mode: str = "rb") -> IO[bytes]:
        return FileSystems.open(self.path, **AS_IT_IS)

    def __str__(self) -> str:
        return self.path


def is_remote(path: str | os.PathLike) -> bool:
    """Returns whether a path has a scheme."""
    return FileSystems.get_scheme(os.fspath(path)) is not None


def files_under(folder: str) -> list[str]:
    """Returns the paths of the files in a remote folder and below, from there."""
    start = _inside(folder, "")
    found = FileSystems.match([start + "**"])[0].metadata_list
    return sorted(x.path.removeprefix(start) for x in found)


def fetch(path: str, target: Path) -> None:
    """Copies a remote file to a local one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with RemoteFile(path).open() as source, target.open("wb") as file:
        shutil.copyfileobj(source, file)


def delete(folder: str, names: Iterable[str]) -> None:
    """Deletes those of the files in a remote folder that there are."""
    there = set(files_under(folder))
    FileSystems.delete([_inside(folder, name) for name in names if name in there])


@contextlib.contextmanager
def working_folder(folder: str, names: Iterable[str] | None = None) -> Iterator[Path]:
    """Yields a folder to read from and to write to.

    A local folder is itself. Of a remote one, it is a temporary folder with copies of
    files. What is written there is stored at the end, in the order in which it was
    written, unless there is an error; on an object store each file appears at once.

    Args:
        folder: Its path, with a scheme if it is remote.
        names: The files to copy, if they exist; `None`: all.
    """
    if not is_remote(folder):
        yield Path(folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        local = Path(temporary)
        found = files_under(folder) if names is None else names
        for name in found:
            path = _inside(folder, name)
            if names is None or FileSystems.exists(path):
                fetch(path, local / name)
        before = _states(local)
        yield local
        for name, state in sorted(_states(local).items(), key=lambda x: x[1]):
            if before.get(name) != state:
                _store(local / name, _inside(folder, name))


def _store(source: Path, path: str) -> None:
    with source.open("rb") as file, FileSystems.create(path, **AS_IT_IS) as target:
        shutil.copyfileobj(file, target)


def _states(folder: Path) -> dict[str, tuple[int, int]]:
    """Returns when each file was written, and which one it is of that time."""
    return {
        x.relative_to(folder).as_posix(): (x.stat().st_mtime_ns, x.stat().st_ino)
        for x in folder.rglob("*")
        if x.is_file()
    }


def _inside(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"

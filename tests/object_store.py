"""An object store in memory, which Beam knows by the scheme `memory`."""

import io

from apache_beam.io.filesystem import BeamIOError, FileMetadata, FileSystem

FILES: dict[str, bytes] = {}
STORED: list[str] = []  # the paths that were written, in their order


class _Written(io.BytesIO):
    """An object appears when it is closed, whole."""

    def __init__(self, path):
        super().__init__()
        self._path = path

    def close(self):
        if not self.closed:
            FILES[self._path] = self.getvalue()
            STORED.append(self._path)
        super().close()


class MemoryFileSystem(FileSystem):
    """Only what object stores do: no folders, no changes in place."""

    @classmethod
    def scheme(cls):
        return "memory"

    def join(self, basepath, *paths):
        return "/".join([basepath.rstrip("/"), *paths])

    def split(self, path):
        return tuple(path.rsplit("/", 1))

    def mkdirs(self, path):
        raise BeamIOError("object stores have no folders")

    def has_dirs(self):
        return False

    def _list(self, dir_or_prefix):
        for path, value in sorted(FILES.items()):
            if path.startswith(dir_or_prefix):
                yield FileMetadata(path, len(value), 0)

    def create(self, path, mime_type="", compression_type=""):
        return _Written(path)

    def open(self, path, mime_type="", compression_type=""):
        if path not in FILES:
            raise BeamIOError(f"no {path}")
        return io.BytesIO(FILES[path])

    def copy(self, source_file_names, destination_file_names):
        raise NotImplementedError

    def rename(self, source_file_names, destination_file_names):
        raise NotImplementedError

    def exists(self, path):
        return path in FILES

    def size(self, path):
        return len(FILES[path])

    def last_updated(self, path):
        return 0

    def metadata(self, path):
        return FileMetadata(path, len(FILES[path]), 0)

    def delete(self, paths):
        for path in paths:
            FILES.pop(path, None)


def put(folder, target):
    """Stores the files of a local folder under a path."""
    for path in folder.rglob("*"):
        if path.is_file():
            FILES[f"{target}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()


def under(folder):
    """Returns what lies in a folder, by name."""
    start = folder + "/"
    return {k.removeprefix(start): v for k, v in FILES.items() if k.startswith(start)}

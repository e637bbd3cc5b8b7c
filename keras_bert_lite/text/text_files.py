"""Text files, compressed or not."""

import concurrent.futures
import gzip
import hashlib
import lzma
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

BOM = b"\xef\xbb\xbf"
# Errors raised when a compressed file is truncated or corrupt.
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def opened(path: Path) -> IO[bytes]:
    """Opens a file for reading; `.gz` and `.xz` are decompressed.

    Args:
        path: The file, or any object with the `suffix` and `open` of a path.
    """
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    if isinstance(path, Path):
        return openers.get(path.suffix, open)(path, "rb")
    file = path.open("rb")
    return openers[path.suffix](file) if path.suffix in openers else file


def read_text(path: str | os.PathLike) -> str:
    """Returns the content of a UTF-8 file, without its byte order mark.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not UTF-8.
    """
    try:
        return Path(path).read_bytes().removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a UTF-8 text file: {error}") from error


def identities(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Returns the identity of each file: its `name`, `bytes` and `sha256`."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return list(pool.map(_identity, paths))


def _identity(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        # Not `tell`: the digest of a buffer does not move it.
        size = file.seek(0, os.SEEK_END)
        return {"name": path.name, "bytes": size, "sha256": digest}

"""Files of text, compressed or not."""

import gzip
import lzma
import zlib
from pathlib import Path
from typing import IO, Any

BOM = b"\xef\xbb\xbf"
# What reading a compressed file that is not whole raises.
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def opened(path: Path) -> IO[bytes]:
    """Opens a file for reading; `.gz` and `.xz` are decompressed."""
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    return openers.get(path.suffix, open)(path, "rb")

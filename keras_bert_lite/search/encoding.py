"""The vectors of a corpus, in a file that an interrupted run goes on from."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from keras_bert_lite._files import full_disk_by_name, write_text
from keras_bert_lite._finite import NotFinite
from keras_bert_lite._progress_bar import progress_bar
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.training.data.truncation import TruncationWarning

WORK = ".vectors-"  # prefix of the folder where vectors are made
VECTORS, DONE, LOCK = "vectors.npy", "done.json", "lock"
PART = 2048  # texts that are sorted by length and encoded together
CHECKED = 16  # vectors of others that are made again
ALIKE = 0.98  # cosine from which two vectors of a text are the same

Encode = Callable[[Sequence[str]], np.ndarray]


@contextlib.contextmanager
def corpus_vectors(
    texts: Sequence[str],
    encode: Encode,
    width: int,
    key: str,
    directory: Path,
    verbose: bool,
) -> Iterator[np.ndarray]:
    """Yields the vectors of texts, float32 `(N, H)`, in a file that goes afterwards.

    What was interrupted goes on where it was.

    Args:
        texts: The texts; there may be none.
        encode: From some of them to their vectors, of length 1.
        width: H.
        key: What the vectors depend on besides the texts.
        directory: Where the file is made.
        verbose: Whether a progress bar is shown.

    Raises:
        BlockingIOError: If another process is making them.
        NotFinite: If a vector is not finite.
    """
    if not texts:  # and a file of nothing cannot be mapped
        yield np.zeros((0, width), np.float32)
        return
    digest = hashlib.sha256(key.encode())
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    folder = directory / f"{WORK}{digest.hexdigest()[:16]}"
    with _lock(folder):
        path, done = folder / VECTORS, _done(folder)
        if not done:
            _allocate(path, (len(texts), width))
        vectors = np.lib.format.open_memmap(path, "r+")
        bar = progress_bar(len(texts) - done, verbose, unit_name="text")
        for start in range(done, len(texts), PART):
            part = texts[start : start + PART]
            vectors[start : start + len(part)] = encode(part)
            vectors.flush()
            write_text(folder / DONE, json.dumps(start + len(part)))
            bar.add(len(part))
        yield vectors
        shutil.rmtree(folder)
    _remove_leftovers(directory)


def _remove_leftovers(directory: Path) -> None:
    """Removes what interrupted runs with other arguments have left."""
    for folder in directory.glob(f"{WORK}*"):
        with contextlib.suppress(BlockingIOError), _lock(folder):
            shutil.rmtree(folder)


def _allocate(path: Path, shape: tuple[int, int]) -> None:
    """Makes a file of vectors whose room on the disk is taken at once.

    Writing to a mapped file where the disk is full would end the process.
    """
    with full_disk_by_name(path):
        try:
            np.lib.format.open_memmap(path, "w+", np.float32, shape)
            if hasattr(os, "posix_fallocate"):  # macOS has none
                with path.open("r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _done(folder: Path) -> int:
    path = folder / DONE
    return json.loads(path.read_text()) if path.is_file() else 0


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Holds a folder, which whoever holds it may remove.

    Raises:
        BlockingIOError: If another process holds it.
    """
    descriptor = _try_lock(folder)
    while descriptor is None:  # another process has removed it in between
        descriptor = _try_lock(folder)
    try:
        yield
    finally:
        os.close(descriptor)


def _try_lock(folder: Path) -> int | None:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise BlockingIOError(
            "`directory` must not be one that another process makes the same index in. "
            f"Received: {os.fspath(folder.parent)!r}"
        ) from None
    except OSError:
        pass  # the file system has no locks
    if (folder / LOCK).exists():
        return descriptor
    os.close(descriptor)
    return None


def warn_of_cut_texts(
    texts: Sequence[str], truncates: Callable, limit: int | None
) -> None:
    """Warns of texts of which only the beginning is read.

    Args:
        texts: The texts.
        truncates: From strings `(B,)` to which of them are too long, booleans `(B,)`.
        limit: The tokens of a text that are read, the special ones included; `None`:
            all.
    """
    if limit is None:
        return
    cut = 0
    for start in range(0, len(texts), PART):
        part = tf.constant(texts[start : start + PART])
        cut += int(np.count_nonzero(truncates(part).numpy()))
    if cut:
        warnings.warn(
            f"{cut} of {len(texts)} texts are longer than {limit} tokens: their "
            "vectors are those of their beginnings. Paragraphs are found better",
            TruncationWarning,
            stacklevel=3,
        )


def checked_vectors(
    vectors: np.ndarray | str | os.PathLike,
    texts: Sequence[str],
    encode: Encode,
    width: int,
) -> np.ndarray:
    """Returns vectors that were made elsewhere, scaled to length 1.

    Raises:
        ValueError: If they are not as many as the texts, not as wide as the encoder's,
            or unlike those of some texts that are encoded again.
        NotFinite: If one is not finite.
    """
    found = (
        np.load(vectors, "r") if isinstance(vectors, (str, os.PathLike)) else vectors
    )
    found = np.asarray(found)
    if found.shape != (len(texts), width) or found.dtype.kind not in "fiu":
        raise ValueError(
            f"`vectors` must be numbers of the shape {(len(texts), width)}: one vector "
            f"for each text, as wide as the encoder's. Received: {found.dtype} "
            f"{found.shape}"
        )
    scaled = unit(found, "vectors")
    places = np.unique(np.linspace(0, len(texts) - 1, CHECKED).astype(int))
    again = encode([texts[i] for i in places])
    cosines = (scaled[places] * again).sum(1)
    if cosines.min() < ALIKE:
        i = places[cosines.argmin()]
        raise ValueError(
            "`vectors` must be the encoder's, of the same texts in the same order. "
            f"Received: one of text {i} whose cosine with the encoder's is "
            f"{cosines.min():.3f}"
        )
    return scaled


def unit(vectors: np.ndarray, argument: str = "encoder") -> np.ndarray:
    """Returns vectors scaled to length 1, in float32; zeros stay zeros.

    Raises:
        NotFinite: If one is NaN or infinite.
    """
    vectors = np.asarray(vectors, np.float32)
    if not np.isfinite(vectors).all():
        wrong = int((~np.isfinite(vectors).all(1)).argmax())
        rule = f"`{argument}` must be finite numbers"
        raise NotFinite(rule, f"NaN or infinity in vector {wrong}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)

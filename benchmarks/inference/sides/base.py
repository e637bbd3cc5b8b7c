"""What a side does."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.inference.workloads import Work

TURN_SECONDS = 2.0


class Side:
    """A way from strings to vectors, the mean over the real tokens.

    Args:
        model: Folder of the model, in Hugging Face layout.
        folder: Where `prepare` writes what `load` reads.
    """

    # Names of the methods that encode a batch; the fastest is timed.
    CALLS: ClassVar[tuple[str, ...]] = ("encode",)
    # A file of texts, one a line, for forms that are calibrated; set before `prepare`.
    calibration: Path | None = None

    def __init__(self, model: Path, folder: Path) -> None:
        self.model, self.folder = model, folder

    def prepare(self) -> None:
        """Writes files; runs in a process that ends then."""

    def load(self) -> None:
        """Gets ready to answer."""

    def ways(self) -> tuple[str, ...]:
        return self.CALLS

    def encode(self, texts: list[str]) -> np.ndarray:
        raise NotImplementedError

    def encode_offline(self, way: str, work: Work) -> np.ndarray:
        """Encodes texts that are there all at once; in their order if need be."""
        call = getattr(self, way)
        return np.concatenate([call(batch) for batch in work.batches])

    def vectors(self, way: str, work: Work) -> np.ndarray:
        """Returns a vector a text, `(B, H)`."""
        if work.offline:
            return self.encode_offline(way, work)
        call = getattr(self, way)
        return np.concatenate([call(batch) for batch in work.batches])

    def seconds(self, way: str, work: Work) -> list[float]:
        """Returns how long each batch takes, or all texts at once if offline.

        Begins no batch after `TURN_SECONDS`: nobody needs to wait for slow sides.
        """
        if work.offline:
            return [_timed(self.encode_offline, way, work)]
        taken: list[float] = []
        for batch in work.batches:
            if sum(taken) > TURN_SECONDS:
                break
            taken.append(_timed(getattr(self, way), batch))
        return taken


def _timed(function: Callable, *arguments: Any) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def use_threads(number: int, intra_op: int | None = None) -> None:
    """Limits TensorFlow; before its first operation."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(intra_op or number)
    tf.config.threading.set_inter_op_parallelism_threads(number)

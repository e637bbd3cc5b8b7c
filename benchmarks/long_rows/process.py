"""A side in a process of its own, which may have another environment.

    python -m benchmarks.long_rows.process SIDE KIND

It reads a line of JSON for each batch, the lengths of its texts and a seed, and writes
one with its seconds on the clock, its seconds of CPU, and the most GiB that the process
held for it: above what it held after a short text, and in all.
"""

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.long_rows.sides import PADDING, SIDES, VOCABULARY

Taken = tuple[float, float, float, float]
SHORT = (16,)


class Side:
    """The other end.

    Args:
        name: A key of `SIDES`.
        kind: What it does.
        python: The interpreter.
    """

    def __init__(self, name: str, kind: str, python: str = sys.executable) -> None:
        self._process = subprocess.Popen(
            [python, "-m", __name__, name, kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={
                **os.environ,
                "KERAS_BACKEND": "tensorflow",
                "TF_CPP_MIN_LOG_LEVEL": "3",
            },
        )
        self._answer()

    def run(self, lengths: tuple[int, ...], seed: int) -> Taken:
        """Returns seconds on the clock and of CPU, and GiB above and in all."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([lengths, seed]) + "\n")
        self._process.stdin.flush()
        return tuple(self._answer())

    def _answer(self):
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError(f"process ended with {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def batch(lengths: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns random ids and the mask of texts of these lengths."""
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    ids = np.random.default_rng(seed).integers(0, VOCABULARY - 200, mask.shape)
    return np.where(mask, ids, PADDING).astype("int32"), mask


def _status(name: str) -> int:
    """Returns bytes of this process, `VmRSS` or its peak `VmHWM`."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(x.split()[1]) for x in lines if x.startswith(f"{name}:")) * 1024


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print
    name, kind = sys.argv[1:]
    run = SIDES[name](kind)
    run(*batch(SHORT, 0))
    gc.collect()
    held = _status("VmRSS")
    print("0", file=answers, flush=True)
    for line in sys.stdin:
        given = batch(*json.loads(line))
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
        clock, cpu = time.perf_counter(), time.process_time()
        run(*given)
        seconds = (time.perf_counter() - clock, time.process_time() - cpu)
        most = _status("VmHWM")
        memory = ((most - held) / 2**30, most / 2**30)
        print(json.dumps([*seconds, *memory]), file=answers, flush=True)


if __name__ == "__main__":
    main()

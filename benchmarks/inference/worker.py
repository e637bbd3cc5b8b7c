"""A side in a process of its own, and the harness's end of its pipe."""

import multiprocessing
import os
import subprocess
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.inference.harness import SideFailedError
from benchmarks.inference.workloads import Work

ROOT = Path(__file__).parents[2]
THREADS = int(os.environ.get("BENCHMARK_THREADS", "2"))
ENVIRONMENT = {
    "KERAS_BACKEND": "tensorflow",
    "OMP_NUM_THREADS": str(THREADS),
    "RAYON_NUM_THREADS": str(THREADS),
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TOKENIZERS_PARALLELISM": "true",
}
WARM_UP = 4  # turns of each way to call a side, the first not counted
WARM_UP_CALLS = 2
PATIENCE = 900.0  # seconds until a side that does not answer is given up


class Worker:
    """Runs a side in another process.

    Args:
        side: Its name in `sides.SIDES`.
        model: Folder of the model.
        folder: Where the side keeps its files and its log.
        python: The interpreter, which may be of another environment.
    """

    def __init__(self, side: str, model: Path, folder: Path, python: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if not Path(python).exists():
            environment = Path(python).parents[1].name
            raise SideFailedError(f"needs `make {environment}/ready`")
        self._pipe, other_end = multiprocessing.Pipe()
        handle = other_end.fileno()
        self._process = subprocess.Popen(
            [python, "-m", __spec__.name, str(handle), side, str(model), str(folder)],
            pass_fds=[handle],
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
        )
        other_end.close()

    def prepare(self, calibration: Path) -> None:
        """Writes the files that the side loads; forms may be calibrated on a file."""
        self._ask("prepare", calibration)

    def load(self) -> None:
        self._ask("load")

    def choose(self, work: Work) -> str:
        """Warms up, and returns which way to call the side is the fastest."""
        return self._ask("choose", work)

    def run(self, work: Work) -> list[float]:
        """Returns the seconds of each batch, measured over there."""
        return self._ask("run", work)

    def vectors(self, work: Work) -> np.ndarray:
        return self._ask("vectors", work)

    def close(self) -> None:
        self._pipe.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, command: str, *arguments: Any) -> Any:
        try:
            self._pipe.send((command, arguments))
            if not self._pipe.poll(PATIENCE):
                raise SideFailedError(f"no answer within {PATIENCE:.0f} s")
            fine, answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise SideFailedError("the process ended") from error
        if not fine:
            raise SideFailedError(answer)
        return answer


class _Loop:
    """What a side's process does with its side."""

    def __init__(self, name: str, model: Path, folder: Path) -> None:
        from benchmarks.inference import sides

        self._side = sides.make(name, model, folder)
        self._way = ""

    def prepare(self, calibration: Path) -> None:
        self._side.calibration = calibration
        self._side.prepare()

    def load(self) -> None:
        self._side.load()

    def choose(self, work: Work) -> str:
        ways = self._side.ways()
        best = dict.fromkeys(ways, float("inf"))
        for turn in range(WARM_UP):
            for way in ways:
                seconds = self._side.seconds(way, work.start(WARM_UP_CALLS))[0]
                best[way] = min(best[way], seconds if turn else best[way])
        self._way = min(best, key=best.get)
        return self._way

    def run(self, work: Work) -> list[float]:
        return self._side.seconds(self._way, work)

    def vectors(self, work: Work) -> np.ndarray:
        return self._side.vectors(self._way, work)


def _serve(pipe: Any, name: str, model: Path, folder: Path) -> None:
    log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    loop = None
    while True:
        try:
            command, arguments = pipe.recv()
        except EOFError:
            return
        try:
            loop = loop or _Loop(name, model, folder)
            pipe.send((True, getattr(loop, command)(*arguments)))
        except Exception as error:
            traceback.print_exc()
            pipe.send((False, f"{type(error).__name__}: {error}"[:300]))


if __name__ == "__main__":
    handle, side, *folders = sys.argv[1:]
    _serve(Connection(int(handle)), side, *map(Path, folders))

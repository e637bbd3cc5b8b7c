"""Runs workloads: starts the sides, checks them, lets them take turns."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.inference import models
from benchmarks.inference.harness import SideFailedError, take_turns
from benchmarks.inference.sides import CUTS_AT, LIMIT, OFFLINE, python_of
from benchmarks.inference.worker import Worker
from benchmarks.inference.workloads import FULL_ROWS, Workload

REFERENCE = "transformers"  # whose vectors the others are compared with
CHECKED = 2  # batches of which the vectors are compared
Say = Callable[[str], None]


class Sides:
    """The running sides of a model, and why others do not run.

    Args:
        names: Names in `sides.SIDES`.
        model: Folder of the model.
        work: Where the sides keep their files.
        calibration: A file of texts that forms are calibrated on.
        say: Is told what goes on.
    """

    def __init__(
        self,
        names: Sequence[str],
        model: Path,
        work: Path,
        calibration: Path,
        say: Say,
    ) -> None:
        self.running: dict[str, Worker] = {}
        self.failed: dict[str, str] = {}
        self._model, self._calibration, self._say = model, calibration, say
        for name in names:
            self._start(name, work / name.replace(" ", "_"))

    def _start(self, name: str, folder: Path) -> None:
        self._say(f"starting {name}")
        worker = None
        try:
            worker = self._worker(name, folder, "prepare")
            worker.prepare(self._calibration)
            worker.close()
            worker = self._worker(name, folder, "load")
            worker.load()
            self.running[name] = worker
        except SideFailedError as error:
            if worker is not None:
                worker.close()
            self.drop(name, error)

    def _worker(self, name: str, folder: Path, command: str) -> Worker:
        return Worker(name, self._model, folder, python_of(name, command))

    def drop(self, name: str, error: Exception) -> None:
        self._say(f"without {name}: {error}")
        self.failed[name] = str(error)
        worker = self.running.pop(name, None)
        if worker is not None:
            worker.close()

    def close(self) -> None:
        for worker in self.running.values():
            worker.close()
        self.running = {}

    def run(self, workload: Workload, rounds: int, seconds: float) -> dict[str, Any]:
        """Returns the record of a workload: all times, ways and agreements."""
        taking_part = {
            name: worker
            for name, worker in self.running.items()
            if _takes_part(name, workload)
        }
        self._say(f"warming up for {workload.name}")
        ways = self._ways(taking_part, workload)
        record = _description(workload, self._model)
        record["ways"] = ways
        record["agreement"] = self._agreement(ways, workload)
        record["rounds"] = take_turns(
            {name: taking_part[name] for name in ways if name in self.running},
            workload.windows,
            rounds,
            seconds,
            failed=self.drop,
        )
        return record

    def _ways(self, workers: Mapping[str, Worker], workload: Workload):
        ways = {}
        for name, worker in workers.items():
            try:
                ways[name] = worker.choose(workload.windows[0])
            except SideFailedError as error:
                self.drop(name, error)
        return ways

    def _agreement(self, names: Sequence[str], workload: Workload):
        vectors, sample = {}, workload.windows[0].start(CHECKED)
        for name in names:
            if name == LIMIT:
                continue
            try:
                vectors[name] = self.running[name].vectors(sample)
            except SideFailedError as error:
                self.drop(name, error)
        reference = vectors.pop(REFERENCE, None)
        if reference is None:
            return {}
        return {name: agreement(x, reference) for name, x in vectors.items()}


def agreement(x: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    """Returns the least cosine of two rows and the largest difference."""
    if x.shape != reference.shape:
        raise ValueError(f"{x.shape} beside {reference.shape}")
    norms = np.linalg.norm(x, axis=-1) * np.linalg.norm(reference, axis=-1)
    return {
        "cosine": float((np.sum(x * reference, -1) / norms).min()),
        "difference": float(np.abs(x - reference).max()),
    }


def _takes_part(name: str, workload: Workload) -> bool:
    if name == LIMIT:
        return workload.corpus == "full"
    if workload.offline and name not in OFFLINE:
        return False
    return workload.cut_at <= CUTS_AT.get(name, workload.cut_at)


def _description(workload: Workload, model: Path) -> dict[str, Any]:
    window = workload.windows[0]
    record = {
        "model": workload.model,
        "corpus": workload.corpus,
        "batch": workload.batch,
        "calls_a_turn": len(window.batches),
        "tokens_a_text": round(workload.tokens, 1),
    }
    if workload.corpus == "full":
        rows = len(window.texts)
        record["matmul_flops"] = models.matmul_flops(model, rows, FULL_ROWS["full"])
    return record

"""From the start of a process to a SavedModel's first answer; size and memory.

    python -m benchmarks.inference.load_time MODEL/1 < texts

prints a line of JSON. `measure` runs that in fresh processes, the SavedModels
taking turns, and adds the size of the files.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.inference.harness import order
from benchmarks.inference.worker import ENVIRONMENT, THREADS
from benchmarks.memory import peak_memory


def measure(
    saved_models: Mapping[str, Path], texts: list[str], times: int
) -> dict[str, dict[str, Any]]:
    """Returns the bytes of each SavedModel and what its fresh processes print.

    Args:
        saved_models: Their folders by name.
        texts: What the first answer is for.
        times: Processes each.
    """
    results = {
        name: {"bytes": _size(path), "runs": []} for name, path in saved_models.items()
    }
    for turn in range(times):
        for name in order(list(saved_models), turn):
            results[name]["runs"].append(_in_new_process(saved_models[name], texts))
    return results


def _in_new_process(path: Path, texts: list[str]) -> dict[str, float]:
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(path)],
        input=json.dumps(texts),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        env={**os.environ, **ENVIRONMENT},
    )
    run = json.loads(done.stdout.strip().split("\n")[-1])
    return {**run, "process_seconds": time.perf_counter() - start}


def _size(path: Path) -> int:
    return sum(x.stat().st_size for x in path.rglob("*") if x.is_file())


def _first_answer(path: str, texts: list[str]) -> dict[str, float]:
    start = time.perf_counter()
    import tensorflow as tf
    import tensorflow_text  # noqa: F401

    from benchmarks.inference.sides.base import use_threads

    use_threads(THREADS)
    imported, memory = time.perf_counter(), peak_memory()
    signature = tf.saved_model.load(path).signatures["serving_default"]
    loaded = time.perf_counter()
    (name,) = signature.structured_input_signature[1]
    for value in signature(**{name: tf.constant(texts)}).values():
        value.numpy()
    answered = time.perf_counter()
    return {
        "import_seconds": imported - start,
        "load_seconds": loaded - imported,
        "first_answer_seconds": answered - imported,
        "memory_after_import": memory,
        "peak_memory": peak_memory(),
    }


if __name__ == "__main__":
    print(json.dumps(_first_answer(sys.argv[1], json.load(sys.stdin))))

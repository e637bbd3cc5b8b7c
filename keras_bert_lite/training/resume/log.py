"""The log of a run: a file of JSON lines, which also locks the run's directory."""

import datetime
import fcntl
import importlib
import json
import os
import platform
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_bert_lite._files import to_json
from keras_bert_lite._tensorflow import tf
from keras_bert_lite._version import __version__
from keras_bert_lite.training.flops import peak_tflops

LOG = "log.jsonl"
BEGUN = "begun"  # the event that each process of a run begins with


class Work(NamedTuple):
    """What a training step does: its tokens and FLOP, and the device's TFLOP/s.

    Without `peak`, it is that of the device's name, if it is known.
    """

    tokens: float
    flops: float
    peak: float | None = None


class Journal:
    """The file `log.jsonl` in a run's directory: an event a line.

    It is locked as long as its process is alive, so that no second run writes into
    the directory. File systems without locks, such as some network file systems,
    let it.

    Args:
        directory: The directory of the run.
        **begun: Facts for the first event.

    Raises:
        ValueError: If another run uses the directory.
    """

    def __init__(self, directory: Path, **begun: Any) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / LOG
        self._file = path.open("a+", encoding="utf-8")
        self._one_at_a_time = threading.Lock()
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise ValueError(
                "`directory` must not be in use by another run; wait until that has "
                f"ended, or take another one. Received: {str(directory)!r}, in use by "
                f"{_owner(path)}"
            ) from error
        except OSError:  # the file system has no locks
            pass
        self.write(
            BEGUN, host=socket.gethostname(), process=os.getpid(), command=sys.argv,
            **begun
        )  # fmt: skip

    def write(self, event: str, **facts: Any) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        line = to_json({"event": event, "time": now, **facts}, default=str)
        with self._one_at_a_time:  # states are written by another thread
            self._file.write(line + "\n")
            self._file.flush()

    def close(self) -> None:
        self._file.close()


def _owner(path: Path) -> str:
    """Returns who began the run that holds the lock."""
    lines = [x for x in path.read_text(encoding="utf-8").splitlines() if BEGUN in x]
    if not lines:
        return "a process that has just begun"
    begun = json.loads(lines[-1])
    return f"process {begun['process']} on {begun['host']}, since {begun['time']}"


def versions() -> dict[str, str]:
    """Returns the versions that decide what a run computes."""
    backend = keras.backend.backend()
    return {
        "python": platform.python_version(),
        "keras_bert_lite": __version__,
        "keras": keras.__version__,
        "numpy": np.__version__,
        "tensorflow": tf.__version__,
        backend: importlib.import_module(backend).__version__,
    }


class RunLog(keras.callbacks.Callback):
    """Adds to the logs of each epoch how fast it was and what it waited for.

    `step_seconds`, `tokens_per_second` (without padding), `model_tflops` (TFLOP/s,
    see `training_flops`), `mfu` (its share of what the devices can do, if that is
    known), `input_wait` (the share of the time in which a step waited for its batch),
    `save_seconds` (how long the save before blocked training) and `memory_gib` (the
    most that a device held; on a CPU, the process). The first step of a run, which is
    compiled, is left out, if there are others. Each epoch is a line of the journal.

    Args:
        work: What a step does.
        save_every: Steps of each epoch.
        write: Writes an event of the journal.
        blocked: Returns the seconds for which the last save blocked training.
    """

    def __init__(
        self,
        work: Work,
        save_every: int,
        write: Callable[..., None],
        blocked: Callable[[], float],
    ) -> None:
        super().__init__()
        self._work, self._save_every = work, save_every
        self._write, self._blocked = write, blocked
        self._compiled = False
        self._arrived = 0.0

    def timed(self, batches: Callable[[int], Any]) -> Callable[[int], Any]:
        """Returns the function of data sets that `batches` is, which tell when a
        batch arrives.
        """

        def note() -> None:
            self._arrived = time.perf_counter()

        def noted(*batch: Any) -> Any:
            tf.numpy_function(note, [], [])
            return batch

        return lambda start: batches(start).map(noted)

    def on_epoch_begin(self, epoch, logs=None):
        self._begin, self._end = time.perf_counter(), None
        self._steps, self._waited = 0, 0.0

    def on_train_batch_begin(self, batch, logs=None):
        self._step_begin = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        if not self._compiled and self.params.get("steps", 1) > 1:
            self._begin, self._steps = time.perf_counter(), -1 - batch
            self._compiled = True
        else:
            self._waited += max(0.0, self._arrived - self._step_begin)
        self._last = batch + 1

    def on_test_begin(self, logs=None):
        self._end = self._end or time.perf_counter()  # JAX has ended its steps here

    def on_epoch_end(self, epoch, logs=None):
        seconds = (self._end or time.perf_counter()) - self._begin
        steps = self._steps + self._last
        found = self._measured(seconds, steps)
        if logs is not None:
            logs.update(found)
        step = (epoch + 1) * self._save_every
        self._write("epoch", step=step, steps=steps, **{**(logs or {}), **found})

    def _measured(self, seconds: float, steps: int) -> dict[str, float]:
        device, count = devices(self.model)
        tflops = self._work.flops * steps / seconds / 1e12
        peak = self._work.peak or peak_tflops(device)
        memory = peak_memory()
        # A strategy of TensorFlow fetches batches for its devices ahead of time.
        waits = count == 1 or keras.backend.backend() == "jax"
        return {
            "step_seconds": seconds / steps,
            "tokens_per_second": self._work.tokens * steps / seconds,
            "model_tflops": tflops,
            **({"mfu": tflops / peak / count} if peak else {}),
            **({"input_wait": self._waited / seconds} if waits else {}),
            "save_seconds": self._blocked(),
            **({"memory_gib": memory / 2**30} if memory else {}),
        }


def devices(model: keras.Model) -> tuple[str, int]:
    """Returns the name of the devices that train a model, and how many they are."""
    if keras.backend.backend() == "jax":
        import jax

        distribution = keras.distribution.distribution()
        mesh = distribution and distribution.device_mesh.devices
        return jax.devices()[0].device_kind, 1 if mesh is None else mesh.size
    gpus = tf.config.list_physical_devices("GPU")
    strategy = getattr(model, "distribute_strategy", None)  # TensorFlow's
    count = 1 if strategy is None else strategy.num_replicas_in_sync
    if not gpus:
        return "cpu", count
    return tf.config.experimental.get_device_details(gpus[0])["device_name"], count


def peak_memory() -> int | None:
    """Returns the most bytes that a device has held; on a CPU, this process."""
    if keras.backend.backend() == "jax":
        import jax

        if stats := jax.local_devices()[0].memory_stats():
            return stats["peak_bytes_in_use"]
    elif tf.config.list_physical_devices("GPU"):
        return tf.config.experimental.get_memory_info("GPU:0")["peak"]
    status = Path("/proc/self/status")  # of Linux; `getrusage` knows the parent's peak
    if not status.is_file():
        return None
    lines = status.read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(x.split()[1]) for x in lines if x.startswith("VmHWM:"))

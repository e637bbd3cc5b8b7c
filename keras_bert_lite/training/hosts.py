"""The processes of a run under JAX: which one this is, what they agree on, who is lost.

Under other backends, and without `jax.distributed`, a run is one process.
"""

import contextlib
import itertools
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

from keras_bert_lite._private import coordination
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.training.last_words import LastWords

BEAT = 2.0  # seconds between a process's signs of life
LOST = 40.0  # seconds without one, after which a process is taken for dead
FAILED, DONE = "failed: ", "done"
COORDINATOR_LOST = "Process 0, the coordinator, has died or cannot be reached"
_watches = itertools.count()  # all processes make theirs in the same order


def process_index() -> int:
    """Returns the index of this process; 0 is the one that writes files."""
    return _jax().process_index() if _is_jax() else 0


def process_count() -> int:
    return _jax().process_count() if _is_jax() else 1


def all_equal(name: str, value: Any) -> None:
    """Checks that all processes have the same value, before anything is compiled.

    Args:
        name: What the value is, in the message.
        value: Of JSON types.

    Raises:
        ValueError: If it differs between processes.
    """
    if process_count() == 1:
        return
    texts = _gathered_texts(json.dumps(value, sort_keys=True, default=str))
    values = [json.loads(x) for x in texts]
    for index, other in enumerate(values):
        if other != values[0]:
            raise ValueError(
                f"The {name} must be the same in all processes. Received: processes "
                f"0 and {index} have {_different(values[0], other)}"
            )


def on_first(function: Callable[[], Any]) -> Any:
    """Calls a function on the first process; all return its result, of JSON types.

    Raises:
        RuntimeError: On the other processes, if the function raises on the first.
    """
    if process_count() == 1:
        return function()
    result, failed = None, None
    if process_index() == 0:
        try:
            result = function()
        except Exception as error:  # the others wait for it
            failed = error
    told = json.dumps([result, failed and f"{type(failed).__name__}: {failed}"])
    result, message = json.loads(_gathered_texts(told)[0])
    if failed is not None:
        raise failed
    if message is not None:
        raise RuntimeError(f"The first process has failed with {message}")
    return result


def from_first(value: np.ndarray | None, like: keras.Variable) -> np.ndarray:
    """Returns the first process's value on all of them, bit for bit.

    Args:
        value: The value; not used on the others.
        like: A variable of the same shape and type.
    """
    if process_count() == 1:
        assert value is not None
        return value
    shape, dtype = tuple(like.shape), np.dtype(like.dtype)
    if process_index():
        value = np.zeros(shape, dtype)
    # As bytes: JAX adds zeros, which would change -0.0, and has no 64-bit numbers.
    flat = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    return (
        np.asarray(_multihost().broadcast_one_to_all(flat)).view(dtype).reshape(shape)
    )


def on_host(value: Any, into: np.ndarray | None = None) -> np.ndarray:
    """Returns a copy of a variable's whole value in this process's memory.

    All processes must call it: a value that is divided among their devices is
    gathered.

    Args:
        value: The variable.
        into: Where the copy is made; `None`: in new memory.
    """
    found = _seen(value)
    if into is not None:
        np.copyto(into, found)
        return into
    # NumPy may see the memory of a tensor, which the next step may reuse.
    return found if found.flags.owndata else found.copy()


def _seen(value: Any) -> np.ndarray:
    """Returns a value, not copied if NumPy can see the memory that it lies in."""
    backend = keras.backend.backend()
    array = value.value if isinstance(value, keras.Variable) else value
    if backend == "tensorflow":
        return np.asarray(tf.convert_to_tensor(array))
    if backend != "jax":
        return keras.ops.convert_to_numpy(array)
    if not array.is_fully_addressable:
        if not array.is_fully_replicated:
            return np.asarray(_multihost().process_allgather(array, tiled=True))
        array = array.addressable_data(0)
    return np.asarray(array)


def part_of_batches() -> tuple[int, int]:
    """Returns which part of each batch this process feeds, and of how many.

    Processes whose devices hold parts of one copy of the model feed the same rows.
    """
    distribution = keras.distribution.distribution() if _is_jax() else None
    if distribution is None or process_count() == 1:
        return 0, 1
    count = min(model_replicas(distribution), process_count())
    return process_index() // (process_count() // count), count


def model_replicas(distribution: Any) -> int:
    """Returns the copies of the model that a distribution of Keras trains.

    Keras itself says so only from 3.15 on.
    """
    mesh = distribution.device_mesh
    if isinstance(distribution, keras.distribution.ModelParallel):
        return mesh.shape[mesh.axis_names.index(distribution.batch_dim_name)]
    return mesh.devices.size


@contextlib.contextmanager
def own_batches() -> Iterator[None]:
    """Keeps Keras from dividing data sets that hold this process's part already."""
    distribution = keras.distribution.distribution() if _is_jax() else None
    if distribution is None:
        yield
        return
    before = distribution.auto_shard_dataset
    distribution.auto_shard_dataset = False
    try:
        yield
    finally:
        distribution.auto_shard_dataset = before


class StopRequest:
    """Notes SIGTERM, which asks a process to end, while it is entered.

    With several processes JAX notes it, and tells all of them at which step to end.
    """

    def __init__(self) -> None:
        self.received = False
        self._before: Any = None

    def __enter__(self) -> "StopRequest":
        main = threading.current_thread() is threading.main_thread()
        if main and process_count() == 1:
            self._before = signal.signal(signal.SIGTERM, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)

    def _note(self, *_: object) -> None:
        self.received = True

    def reached(self, step: int) -> bool:
        """Returns whether to end behind this step, the same on all processes."""
        if not self.received and process_count() > 1:
            self.received = _multihost().reached_preemption_sync_point(step)
        return self.received


class Watch:
    """Ends this process, and says why, when another one of the run has died.

    A process that waits for a dead one's devices would otherwise wait for long, and
    then be aborted without a word about which one it was. Each process leaves signs of
    life with JAX's coordination service, and reads those of the others. If it is the
    service's own process that dies, JAX ends the others; `LastWords` says why.

    Args:
        stop: Tells whether all processes were asked to end.
        before_end: Called before the process ends, for instance to finish a write.
    """

    def __init__(self, stop: StopRequest, before_end: Callable[[], None]) -> None:
        self._stop, self._before_end = stop, before_end
        self._ended = threading.Event()
        self._seen: dict[int, tuple[str, float]] = {}
        self._last_words: LastWords | None = None

    def __enter__(self) -> "Watch":
        if process_count() > 1:
            self._folder = f"keras_bert_lite/{next(_watches)}"
            self._client = coordination().client
            if process_index():
                said = self._ending(COORDINATOR_LOST)
                address = coordination().coordinator_address
                self._last_words = LastWords(address, said)
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _: object) -> None:
        if process_count() == 1:
            return
        if error is not None and _is_of_a_collective(error):
            print(f"{error}\nLooking for the process that is lost ...", file=sys.stderr)
            time.sleep(LOST + 2 * BEAT)  # unless `_run` ends the process
        self._ended.set()
        self._thread.join(BEAT)
        self._close_last_words()
        whole = error is None or self._stop.received
        with contextlib.suppress(Exception):  # the service may be what has died
            last = DONE if whole else f"{FAILED}{type(error).__name__}: {error}"
            self._tell(last)

    def _run(self) -> None:
        for number in itertools.count():
            if reason := self._reason(number):
                print(self._ending(reason), file=sys.stderr)
                self._close_last_words()
                self._before_end()
                sys.stderr.flush()
                os._exit(1)  # the main thread waits for devices, for ever
            if self._ended.wait(BEAT):
                return

    def _reason(self, number: int) -> str | None:
        """Leaves a sign of life; returns why the run cannot go on, if so."""
        try:
            self._tell(str(number))
            found = dict(self._client.key_value_dir_get(self._folder))
        except Exception as error:
            return f"{COORDINATOR_LOST}: {str(error).splitlines()[0]}"
        now = time.monotonic()
        for key, text in found.items():
            index, (sign, host) = int(key.split("/")[-1]), text.split("\n", 1)
            if sign.startswith(FAILED):
                return f"Process {index}, on {host}, has {sign}"
            before, since = self._seen.get(index, ("", now))
            since = now if sign != before else since
            self._seen[index] = (sign, since)
            if sign != DONE and now - since > LOST:
                silence = f"has given no sign of life for {LOST:.0f} s"
                return f"Process {index}, on {host}, {silence}"
        return None

    def _ending(self, reason: str) -> str:
        own = f"{process_index()} of {process_count()}"
        return (
            f"{reason}. This process, {own}, ends too; "
            "start all of them again to go on from the last state."
        )

    def _close_last_words(self) -> None:
        if self._last_words is not None:
            self._last_words.close()
            self._last_words = None

    def _tell(self, sign: str) -> None:
        key = f"{self._folder}/{process_index()}"
        text = f"{sign}\n{socket.gethostname()}"
        self._client.key_value_set(key, text, allow_overwrite=True)


def _is_of_a_collective(error: BaseException) -> bool:
    return isinstance(error, _jax().errors.JaxRuntimeError) or "Gloo" in str(error)


def _gathered_texts(text: str) -> list[str]:
    """Returns the texts of all processes."""
    gather = _multihost().process_allgather
    data = np.frombuffer(text.encode(), np.uint8)
    sizes = np.asarray(gather(np.array([data.size]))).reshape(-1)
    padded = np.zeros(sizes.max(), np.uint8)
    padded[: data.size] = data
    rows = np.asarray(gather(padded)).reshape(len(sizes), -1)
    return [bytes(x[:size]).decode() for x, size in zip(rows, sizes, strict=True)]


def _different(one: Any, other: Any) -> str:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return f"{one!r} and {other!r}"
    keys = [x for x in one.keys() | other.keys() if one.get(x) != other.get(x)]
    return ", ".join(
        f"{x!r}: {one.get(x)!r} and {other.get(x)!r}" for x in sorted(keys)
    )


def _is_jax() -> bool:
    return keras.backend.backend() == "jax"


def _jax() -> Any:
    import jax

    return jax


def _multihost() -> Any:
    from jax.experimental import multihost_utils

    return multihost_utils

"""One call that finds devices and hosts, and tells Keras how to use them."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

import keras

from keras_bert_lite._tensorflow import is_installed, tf
from keras_bert_lite.checks import check_positive, check_seed
from keras_bert_lite.distribution.layout import (
    BATCH,
    MODEL,
    Axes,
    default_layout,
)
from keras_bert_lite.distribution.placement import Placement
from keras_bert_lite.distribution.processes import (
    Processes,
    find_processes,
)
from keras_bert_lite.distribution.roll_call import roll_call

CACHE = "~/.cache/keras_bert_lite/jax"


@dataclasses.dataclass(frozen=True)
class Devices:
    """What a run has to compute on; `print` shows it.

    Args:
        platform: `"tpu"`, `"gpu"` or `"cpu"`.
        kind: The kind of device, in the words of its driver.
        num_devices: The number of devices of all processes.
        num_processes: The number of processes, usually one a host.
        process_id: The number of this process, from 0.
        mesh: The sizes of the axes `batch` and, if weights are cut, `model`.
        found_by: What told of the processes; `None` if there is one.
        compilation_cache: The directory of compiled programs, or `None`.
    """

    platform: str
    kind: str
    num_devices: int
    num_processes: int
    process_id: int
    mesh: Mapping[str, int]
    found_by: str | None
    compilation_cache: str | None

    def __str__(self) -> str:
        processes = "1 process"
        if self.num_processes > 1:
            processes = (
                f"{self.num_processes} processes (from {self.found_by}), this is "
                f"number {self.process_id}"
            )
        mesh = " x ".join(f"{axis} {size}" for axis, size in self.mesh.items())
        return (
            f"devices: {self.num_devices} {self.platform} ({self.kind}), {processes}\n"
            f"mesh: {mesh}\n"
            f"compilation cache: {self.compilation_cache or 'none'}"
        )


def setup(
    model: int = 1,
    layout: Mapping[str, Axes] | None = None,
    *,
    job_addresses: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    timeout: int = 60,
    seed: int = 0,
    compilation_cache: str | os.PathLike | None = "auto",
) -> Devices:
    """Finds devices and hosts, and sets `keras.distribution` to use all of them.

    To be called first, right behind the imports, under the JAX backend
    (`KERAS_BACKEND=jax`). `fit`, `pretrain` and the others then share out each batch
    over the devices; the batch size stays that of all devices together, and results
    are those of one device up to rounding. With one device it changes nothing.

    On several hosts, each runs the same program. They are found in the environment of
    Slurm (`srun`), of Cloud TPU, of an indexed Kubernetes job (with `jax[k8s]`), in
    the variables of `keras.distribution.initialize`, or in the arguments.

    TensorFlow, which still reads and tokenizes, is kept off GPUs and TPUs.

    Under the TensorFlow backend it only describes the one device: for several GPUs of
    one host there is `tf.distribute.MirroredStrategy`.

    Args:
        model: Over how many devices each weight is cut, for models that one does not
            hold. The others share the batch.
        layout: Which weights are cut, and how, with `model`; `None`:
            `default_layout()`, which fits every family and task of this package. It
            cuts the embeddings of tokens by width, so the vocabulary need not divide.
        job_addresses: The address of process 0, `host:port`; those of the others may
            follow behind commas. `None`: it is found.
        num_processes: The number of processes; 1: do not look for others.
        process_id: The number of this process, from 0.
        timeout: Seconds after which a process that did not join, or no longer
            answers, is given up.
        seed: Keras's random seed if there are several processes: they must draw the
            same weights.
        compilation_cache: Where compiled programs are kept for later runs. `"auto"`:
            where `JAX_COMPILATION_CACHE_DIR` says; without it, on accelerators,
            `~/.cache/keras_bert_lite/jax`. `None`: JAX's setting is left as it is.

    Returns:
        A description of what was found.

    Raises:
        ImportError: If Kubernetes cannot be asked.
        NotImplementedError: If the backend is not JAX and there is more than one
            device or process to use.
        RuntimeError: If TensorFlow or JAX has used the devices before.
        TimeoutError: If a process does not join in time; the message has its number.
            On Cloud TPU and Kubernetes, JAX ends the process instead.
        ValueError: If `model` does not divide the number of devices, `layout` is
            given without it, or some of the arguments about processes are missing.

    Example:

    >>> print(kbl.distribution.setup(num_processes=1))
    devices: 1 cpu (cpu), 1 process
    mesh: batch 1
    compilation cache: none
    """
    check_positive("model", model)
    check_positive("timeout", timeout)
    check_seed(seed)
    if layout is not None and model == 1:
        raise ValueError(
            "`layout` says how weights are cut over `model` devices, so `model` must "
            f"be at least 2. Received: model=1, layout={layout!r}"
        )
    processes = find_processes(job_addresses, num_processes, process_id)
    if keras.backend.backend() != "jax":
        return _of_other_backend(model, processes)
    import jax  # the backend, which is no dependency

    _keep_tensorflow_off()
    if processes is not None and not jax.distributed.is_initialized():
        _join(processes, timeout)
        keras.utils.set_random_seed(seed)
    devices = keras.distribution.list_devices()
    if len(devices) % model:
        raise ValueError(
            f"`model` must divide the number of devices, {len(devices)}. "
            f"Received: {model}"
        )
    keras.distribution.set_distribution(_placement(devices, model, layout))
    mesh = {BATCH: len(devices) // model}
    first = jax.devices()[0]
    return Devices(
        platform=first.platform,
        kind=first.device_kind,
        num_devices=len(devices),
        num_processes=jax.process_count(),
        process_id=jax.process_index(),
        mesh=mesh if model == 1 else {**mesh, MODEL: model},
        found_by=None if processes is None else processes.source,
        compilation_cache=_cache(compilation_cache, first.platform),
    )


def _join(processes: Processes, timeout: int) -> None:
    """Waits for the other processes."""
    import jax

    given = processes.arguments
    if "coordinator_address" in given:
        number, count = given["process_id"], given["num_processes"]
        roll_call(given["coordinator_address"], count, number, timeout)
    jax.distributed.initialize(
        **given, initialization_timeout=timeout, heartbeat_timeout_seconds=timeout
    )


def _placement(
    devices: list[str], model: int, layout: Mapping[str, Axes] | None
) -> Placement | None:
    if len(devices) == 1:
        return None  # Keras then copies batches to the device ahead
    if model == 1:
        mesh = keras.distribution.DeviceMesh((len(devices),), (BATCH,), devices)
        return Placement(mesh, {})
    shape = (len(devices) // model, model)
    mesh = keras.distribution.DeviceMesh(shape, (BATCH, MODEL), devices)
    if layout is None:
        return Placement(mesh, default_layout())
    return Placement(mesh, layout, own=True)


def _keep_tensorflow_off() -> None:
    """Hides accelerators from TensorFlow, which would take their memory."""
    if not is_installed("tensorflow"):
        return
    for kind in ("GPU", "TPU"):
        try:
            tf.config.set_visible_devices([], kind)
        except RuntimeError as error:  # it already holds them
            raise RuntimeError(
                "`setup` must be called before TensorFlow computes anything, such as "
                f"a tokenizer: it has taken the memory of each {kind} already."
            ) from error


def _cache(directory: str | os.PathLike | None, platform: str) -> str | None:
    """Sets the directory of JAX's compilation cache, and returns it."""
    import jax

    if directory == "auto":
        directory = CACHE if platform != "cpu" else None
        directory = jax.config.jax_compilation_cache_dir or directory
    if directory is not None:
        path = str(Path(directory).expanduser())
        jax.config.update("jax_compilation_cache_dir", path)
    return jax.config.jax_compilation_cache_dir


def _of_other_backend(model: int, processes: Processes | None) -> Devices:
    """Describes the one device of a backend that is not JAX."""
    backend = keras.backend.backend()
    gpus = tf.config.list_physical_devices("GPU") if backend == "tensorflow" else []
    if model > 1 or processes is not None or len(gpus) > 1 or backend == "torch":
        raise NotImplementedError(
            "Several devices and hosts need the JAX backend, set before Keras is "
            "imported: `KERAS_BACKEND=jax`. Under TensorFlow, several GPUs of one "
            "host work if the model is built and compiled within "
            f"`tf.distribute.MirroredStrategy().scope()`. Received: {backend}, "
            f"model={model}, {len(gpus)} GPUs, "
            f"{'several processes' if processes else 'one process'}"
        )
    platform = "gpu" if gpus else "cpu"
    return Devices(platform, platform, 1, 1, 0, {BATCH: 1}, None, None)

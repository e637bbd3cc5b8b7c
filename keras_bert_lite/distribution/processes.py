"""The processes of a run on several hosts, found in the environment."""

import dataclasses
import importlib.util
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# What `srun` sets, and JAX reads.
SLURM = (
    "SLURM_JOB_ID",
    "SLURM_STEP_NODELIST",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
)
FIRST_PORT, PORTS = 61440, 4094  # of the address, by the number of the job
# What `keras.distribution.initialize` reads.
KERAS = {
    "job_addresses": "KERAS_DISTRIBUTION_JOB_ADDRESSES",
    "num_processes": "KERAS_DISTRIBUTION_NUM_PROCESSES",
    "process_id": "KERAS_DISTRIBUTION_PROCESS_ID",
}
TPU_HOSTS = "TPU_WORKER_HOSTNAMES"
TPU_SLICES = "MEGASCALE_NUM_SLICES"
METADATA = "computeMetadata/v1/instance/attributes/worker-network-endpoints"


@dataclasses.dataclass(frozen=True)
class Processes:
    """Where the number of processes is from, and how they meet.

    Args:
        source: What told that there are several.
        arguments: Arguments of `jax.distributed.initialize`.
    """

    source: str
    arguments: Mapping[str, Any]


def find_processes(
    job_addresses: str | None, num_processes: int | None, process_id: int | None
) -> Processes | None:
    """Returns how the processes of the run meet, or `None` if there is only one.

    Raises:
        ImportError: If Kubernetes numbers the process and JAX cannot ask it.
        ValueError: If some of the arguments are missing.
    """
    given = _given(job_addresses, num_processes, process_id)
    if given is not None:
        return given if given.arguments["num_processes"] > 1 else None
    if all(name in os.environ for name in SLURM):
        return _slurm() if int(os.environ["SLURM_NTASKS"]) > 1 else None
    if _tpu_hosts() > 1:
        return Processes("Cloud TPU", {})
    if {"KUBERNETES_SERVICE_HOST", "JOB_COMPLETION_INDEX"} <= os.environ.keys():
        if importlib.util.find_spec("kubernetes") is None:
            raise ImportError(
                "The processes of a Kubernetes job are counted by the package "
                'kubernetes: `pip install "jax[k8s]"`, or give `job_addresses`, '
                "`num_processes` and `process_id` (`num_processes=1` for one alone)."
            )
        return Processes("Kubernetes", {"cluster_detection_method": "k8s"})
    return None


def _given(
    job_addresses: str | None, num_processes: int | None, process_id: int | None
) -> Processes | None:
    """Returns what the arguments say, or Keras's variables of the environment."""
    named: dict[str, Any] = {
        "job_addresses": job_addresses,
        "num_processes": num_processes,
        "process_id": process_id,
    }
    source = "the arguments"
    if all(x is None for x in named.values()):
        named = {name: os.environ.get(variable) for name, variable in KERAS.items()}
        source = "the environment variables of Keras"
    if all(x is None for x in named.values()):
        return None
    if str(named["num_processes"]) == "1":
        return Processes(source, {"num_processes": 1})
    if missing := [name for name, x in named.items() if x is None]:
        raise ValueError(
            f"`{missing[0]}` must be given if the others are: the address of process "
            "0, the number of processes, and the number of this one. "
            f"Received: {named}"
        )
    count, number = int(named["num_processes"]), int(named["process_id"])
    if not 0 <= number < count:
        raise ValueError(
            f"`process_id` must be from 0 to {count - 1}. Received: {number}"
        )
    return Processes(
        source,
        {
            "coordinator_address": str(named["job_addresses"]).split(",")[0],
            "num_processes": count,
            "process_id": number,
            # The devices are all of the host's, and nothing else is to be found.
            "cluster_detection_method": "deactivate",
        },
    )


def _slurm() -> Processes:
    """Returns what JAX would find, with the address that its processes meet at."""
    job, nodes, count, number, local = (os.environ[name] for name in SLURM)
    # "node1,other2", or "node[01-04,07]": the first one.
    found = re.match(r"([^,\[]+)(?:\[([^,\-\]]+))?", nodes)
    if found is None:
        raise ValueError(f"`SLURM_STEP_NODELIST` must name nodes. Received: {nodes!r}")
    port = FIRST_PORT + int(job) % PORTS
    return Processes(
        "Slurm",
        {
            "coordinator_address": f"{found[1]}{found[2] or ''}:{port}",
            "num_processes": int(count),
            "process_id": int(number),
            "local_device_ids": [int(local)],  # of the GPUs of the host
        },
    )


def _tpu_hosts() -> int:
    """Returns how many hosts a Cloud TPU has, at least one."""
    slices = int(os.environ.get(TPU_SLICES) or 1)
    if names := os.environ.get(TPU_HOSTS):
        return slices * len(names.split(","))
    if slices > 1 or "TPU_SKIP_MDS_QUERY" in os.environ or not _has_tpu():
        return slices
    return len(_endpoints().split(","))


def _has_tpu() -> bool:
    devices = [Path("/dev/accel0"), Path("/dev/vfio/0")]
    libtpu = importlib.util.find_spec("libtpu") is not None
    return libtpu and any(x.exists() for x in devices)


def _endpoints() -> str:
    """Asks a virtual machine's metadata for its workers; "" where there are none."""
    host = os.environ.get("GCE_METADATA_IP", "metadata.google.internal")
    headers = {"Metadata-Flavor": "Google"}
    request = urllib.request.Request(f"http://{host}/{METADATA}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read().decode()
    except urllib.error.URLError:  # Colab and Kaggle have one host
        return ""

"""TensorFlow Serving's own configuration, as text."""

import re
from collections.abc import Sequence

from google.protobuf import text_format

METRICS_PATH = "/monitoring/prometheus/metrics"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def model_config(
    name: str, base_path: str, version_policy: str | int | Sequence[int] = 1
) -> str:
    """Returns the text of a `model.config`, a ModelServerConfig of one model.

    Args:
        name: The name under which clients call the model.
        base_path: The directory of the versions, as the server sees it.
        version_policy: How many of the newest versions are served, a list of
            the versions served, or `"all"`.

    Raises:
        ValueError: If the name has other characters than letters, digits,
            `_`, `.` and `-`, or the path or the policy cannot be used.
    """
    # Imported late: only server files need it.
    from tensorflow_serving.config import model_server_config_pb2

    check_name(name)
    check_path("base_path", base_path)
    config = model_server_config_pb2.ModelServerConfig()
    model = config.model_config_list.config.add(
        name=name, base_path=base_path, model_platform="tensorflow"
    )
    policy = model.model_version_policy
    if version_policy == "all":
        policy.all.SetInParent()
    elif isinstance(version_policy, (list, tuple)) and version_policy:
        for version in version_policy:
            check_count("version_policy", version)
        policy.specific.versions.extend(version_policy)
    else:
        check_count("version_policy", version_policy)
        policy.latest.num_versions = version_policy
    return text_format.MessageToString(config)


def batching_parameters(
    max_batch_size: int = 32,
    batch_timeout_micros: int = 1000,
    num_batch_threads: int | None = None,
    max_enqueued_batches: int = 100,
    allowed_batch_sizes: Sequence[int] = (),
) -> str:
    """Returns the text of a `batching_params.pbtxt`, for `--enable_batching`.

    Args:
        max_batch_size: The most rows that requests are joined to.
        batch_timeout_micros: How long a request waits for others to join.
        num_batch_threads: Batches computed at once; `None` is the server's own
            choice, its number of cores.
        max_enqueued_batches: Batches that may wait; when as many do, further
            requests are refused as unavailable.
        allowed_batch_sizes: Sizes that batches are filled up to by repeating
            a row, for accelerators; in increasing order, the last one being
            `max_batch_size`. None by default.

    Raises:
        ValueError: If a number is not positive, or the sizes are not as above.
    """
    values = {
        "max_batch_size": max_batch_size,
        "batch_timeout_micros": batch_timeout_micros,
        "max_enqueued_batches": max_enqueued_batches,
    }
    if num_batch_threads is not None:
        values["num_batch_threads"] = num_batch_threads
    for name, value in values.items():
        check_count(name, value, least=0 if name == "batch_timeout_micros" else 1)
    sizes = list(allowed_batch_sizes)
    for size in sizes:
        check_count("allowed_batch_sizes", size)
    if sizes and (sizes != sorted(set(sizes)) or sizes[-1] != max_batch_size):
        raise ValueError(
            "`allowed_batch_sizes` must increase and end with "
            f"max_batch_size={max_batch_size}. Received: {allowed_batch_sizes}"
        )
    # The proto, BatchingParameters, is not in tensorflow-serving-api.
    lines = [f"{name} {{ value: {value} }}" for name, value in values.items()]
    lines += [f"allowed_batch_sizes: {size}" for size in sizes]
    return "\n".join([*lines, ""])


def monitoring_config() -> str:
    """Returns the text of a `monitoring.config`: metrics for Prometheus."""
    return f'prometheus_config {{\n  enable: true\n  path: "{METRICS_PATH}"\n}}\n'


def check_name(name: str) -> None:
    """Refuses names that would not do in a URL, a path and a Docker service."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(
            "`name` must be letters, digits, `_`, `.` and `-`, a letter or a digit "
            f"first. Received: {name!r}"
        )


def check_path(argument: str, path: str) -> None:
    """Refuses what would break a line of a configuration file."""
    if not isinstance(path, str) or not path.isprintable() or not path.strip():
        raise ValueError(
            f"`{argument}` must be a path without control characters. "
            f"Received: {path!r}"
        )


def check_count(argument: str, value: object, least: int = 1) -> None:
    """Refuses what is not a whole number of at least `least`."""
    if type(value) is not int or value < least:
        raise ValueError(
            f"`{argument}` must be a whole number of at least {least}. "
            f"Received: {value!r}"
        )

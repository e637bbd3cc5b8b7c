"""Configuration files of TensorFlow Serving."""

import re
from collections.abc import Sequence

from google.protobuf import text_format

METRICS_PATH = "/monitoring/prometheus/metrics"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def model_config(
    name: str, base_path: str, version_policy: str | int | Sequence[int] = 1
) -> str:
    """Returns the text of a `model.config`, a ModelServerConfig for one model.

    Args:
        name: The model's name for clients.
        base_path: The directory of the versions, as the server sees it.
        version_policy: The number of newest versions to serve, a list of
            versions, or `"all"`.

    Raises:
        ValueError: If the name contains characters other than letters, digits,
            `_`, `.` and `-` or begins with one of the last three, or the path or
            the policy is invalid.
    """
    from keras_bert_lite.serving.messages import ModelServerConfig

    check_name(name)
    check_path("base_path", base_path)
    config = ModelServerConfig()
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
        max_batch_size: The maximum number of rows in a batch.
        batch_timeout_micros: How long a request waits for others, in microseconds.
        num_batch_threads: Number of batches computed in parallel; `None` uses the
            server's default, its number of cores.
        max_enqueued_batches: The maximum number of waiting batches; the server
            rejects further requests as unavailable.
        allowed_batch_sizes: Sizes to which batches are padded, by repeating a row,
            for accelerators. They must increase and end with `max_batch_size`. By
            default there is no padding.

    Raises:
        ValueError: If a number is not positive (the timeout may be 0), or the
            sizes are invalid.
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
    lines = [f"{name} {{ value: {value} }}" for name, value in values.items()]
    lines += [f"allowed_batch_sizes: {size}" for size in sizes]
    return "\n".join([*lines, ""])


def monitoring_config() -> str:
    """Returns the text of a `monitoring.config` that enables Prometheus metrics."""
    return f'prometheus_config {{\n  enable: true\n  path: "{METRICS_PATH}"\n}}\n'


def check_name(name: str) -> None:
    """Checks that a name is valid in a URL, a path and a Docker service."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(
            "`name` must be letters, digits, `_`, `.` and `-`, and begin with a "
            f"letter or a digit. Received: {name!r}"
        )


def check_path(argument: str, path: str) -> None:
    """Checks that a path does not break a line of a configuration file."""
    if not isinstance(path, str) or not path.isprintable() or not path.strip():
        raise ValueError(
            f"`{argument}` must be a path without control characters. "
            f"Received: {path!r}"
        )


def check_count(argument: str, value: object, least: int = 1) -> None:
    """Checks that a value is an integer of at least `least`."""
    if type(value) is not int or value < least:
        raise ValueError(
            f"`{argument}` must be a whole number of at least {least}. "
            f"Received: {value!r}"
        )

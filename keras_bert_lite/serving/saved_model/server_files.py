"""Files to start TensorFlow Serving with, next to a model's versions."""

import ipaddress
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_bert_lite._files import write_text
from keras_bert_lite.serving.saved_model.server_config import (
    check_count,
    check_name,
    check_path,
    model_config,
    monitoring_config,
)

MODEL_CONFIG = "model.config"
MONITORING = "monitoring.config"
BATCHING = "batching_params.pbtxt"
IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@-]*")
# The image has no curl, but it has bash, which runs its entry point.
COMPOSE = """\
services:
  {name}:
    image: {image}
    command:
{flags}
    ports:
      - {grpc}
      - {rest}
    volumes:
      - type: bind
        source: {source}
        target: {target}
        read_only: true
    healthcheck:
      test: ["CMD", "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8500"]
      interval: 5s
      timeout: 3s
      start_period: 60s
    restart: unless-stopped
"""


def compose_file(
    name: str,
    directory: str | os.PathLike = ".",
    image: str = "tensorflow/serving:2.20.0",
    batching: bool = False,
    host: str = "127.0.0.1",
    grpc_port: int = 8500,
    rest_port: int = 8501,
    intra_op_threads: int | None = None,
) -> str:
    """Returns the text of a `compose.yaml` that serves a model with Docker.

    The server reads the files that `write_server_files` writes to `directory`.
    It counts as healthy once it listens, which is after the model is loaded.

    Args:
        name: The model's name for clients.
        directory: The model's directory, with its versions and these files;
            relative to the `compose.yaml`. It is mounted read-only.
        image: The image of TensorFlow Serving or a compatible server.
        batching: Whether to batch requests as configured in
            `batching_params.pbtxt`.
        host: The host's address to listen on. The server has no authentication;
            `"0.0.0.0"` opens it to the network.
        grpc_port: The host's port for gRPC.
        rest_port: The host's port for REST and metrics.
        intra_op_threads: How many threads compute one operation of a request; `None`:
            the server's default, one for each core. With 1, requests share the cores
            better, and int8 models answer sooner.

    Raises:
        ValueError: If the name, the directory, the image, the address, a port or the
            number of threads is invalid.
    """
    check_name(name)
    check_path("directory", os.fspath(directory))
    if not isinstance(image, str) or not IMAGE.fullmatch(image):
        raise ValueError(f"`image` must be an image's name. Received: {image!r}")
    _check_address(host)
    for argument, port in [("grpc_port", grpc_port), ("rest_port", rest_port)]:
        if type(port) is not int or not 1 <= port <= 65535:
            raise ValueError(f"`{argument}` must be a port. Received: {port!r}")
    inside = f"/models/{name}"
    flags = [f"--model_config_file={inside}/{MODEL_CONFIG}"]
    flags.append(f"--monitoring_config_file={inside}/{MONITORING}")
    if batching:
        flags.append("--enable_batching=true")
        flags.append(f"--batching_parameters_file={inside}/{BATCHING}")
    if intra_op_threads is not None:
        check_count("intra_op_threads", intra_op_threads)
        flags.append(f"--tensorflow_intra_op_parallelism={intra_op_threads}")
    return COMPOSE.format(
        name=json.dumps(name),
        image=json.dumps(image),
        flags="\n".join(f"      - {json.dumps(flag)}" for flag in flags),
        grpc=json.dumps(f"{host}:{grpc_port}:8500"),
        rest=json.dumps(f"{host}:{rest_port}:8501"),
        # Compose would interpolate a variable after a dollar sign.
        source=json.dumps(os.fspath(directory), ensure_ascii=False).replace("$", "$$"),
        target=json.dumps(inside),
    )


def write_server_files(
    directory: str | os.PathLike,
    name: str | None = None,
    version_policy: str | int | Sequence[int] = 1,
    batching: str | None = None,
    **options: Any,
) -> list[Path]:
    """Writes a server's files next to a model's versions, replacing older ones.

        write_server_files("models/sentiment", batching=batching_parameters())

    After this, `docker compose up` in that directory serves the model.

    Args:
        directory: The model's directory.
        name: The model's name for clients; `None` uses the directory's name.
        version_policy: See `model_config`.
        batching: The result of `batching_parameters`; `None` disables batching.
        **options: `image`, `host`, `grpc_port`, `rest_port` and `intra_op_threads`
            of `compose_file`.

    Returns:
        The paths of the written files.

    Raises:
        FileNotFoundError: If the directory does not exist.
        ValueError: As in `model_config` and `compose_file`; nothing is written.
    """
    folder = Path(directory).resolve()
    if not folder.is_dir():
        raise FileNotFoundError(f"`directory` does not exist. Received: {directory}")
    name = folder.name if name is None else name
    texts = {
        MODEL_CONFIG: model_config(name, f"/models/{name}", version_policy),
        MONITORING: monitoring_config(),
        "compose.yaml": compose_file(name, batching=batching is not None, **options),
    }
    if batching is not None:
        texts[BATCHING] = batching
    for file, text in texts.items():
        write_text(folder / file, text)  # a server may be reading the old one
    return [folder / file for file in texts]


def _check_address(host: str) -> None:
    try:
        ipaddress.IPv4Address(str(host))
    except ValueError as error:
        raise ValueError(f"`host` must be an IPv4 address. {error}") from None

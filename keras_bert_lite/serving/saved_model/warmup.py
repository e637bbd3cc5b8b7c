"""Warm-up requests, which a server runs before it reports a model as ready."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from keras_bert_lite._files import replaced_file
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.serving.check.signatures import run

MAX_RECORDS = 1000  # a server does not load a model with more

Request = tuple[str, dict[str, Any]]


def write_warmup(
    version_directory: str | os.PathLike, requests: Iterable[Request]
) -> Path:
    """Writes requests that a server runs when it loads the model.

    The file is `assets.extra/tf_serving_warmup_requests`. A request that fails
    prevents the model from loading, so test them with `replay_warmup`.

    Args:
        version_directory: The directory that holds `saved_model.pb`.
        requests: Pairs of a signature's name and its inputs by name, as
            arrays or values that convert to arrays.

    Returns:
        The path of the file.

    Raises:
        ValueError: If there are no requests or more than 1,000.
        FileNotFoundError: If the directory holds no SavedModel.
    """
    directory, requests = Path(version_directory), list(requests)
    if not (directory / "saved_model.pb").is_file():
        raise FileNotFoundError(
            "`version_directory` must hold a SavedModel (saved_model.pb). "
            f"Received: {os.fspath(version_directory)!r}"
        )
    if not 1 <= len(requests) <= MAX_RECORDS:
        raise ValueError(
            f"`requests` must hold 1 to {MAX_RECORDS} requests; a server does not "
            f"load a model with more. Received: {len(requests)}"
        )
    records = [_record(directory.parent.name, *request) for request in requests]
    path = _path(directory)
    with replaced_file(path) as draft, tf.io.TFRecordWriter(str(draft)) as writer:
        for record in records:
            writer.write(record)
    return path


def read_warmup(
    version_directory: str | os.PathLike,
) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Reads a SavedModel's warm-up requests; returns none if it has no such file.

    Args:
        version_directory: The directory that holds `saved_model.pb`.

    Returns:
        Pairs of a signature's name and its inputs by name.

    Raises:
        ValueError: If the file is corrupt, or a request is not a Predict request.
    """
    path = _path(Path(version_directory))
    if not path.is_file():
        return []
    try:
        records = [r.numpy() for r in tf.data.TFRecordDataset(str(path))]
    except tf.errors.DataLossError as error:
        raise ValueError(
            f"{path} is not a complete TFRecord file ({error.message}). Write it again "
            "with `write_warmup`."
        ) from None
    return [_request(f"Record {i} of {path}", r) for i, r in enumerate(records)]


def replay_warmup(version_directory: str | os.PathLike, loaded: Any = None) -> int:
    """Runs every warm-up request, as a server does when it loads the model.

    Args:
        version_directory: The directory that holds `saved_model.pb`.
        loaded: The result of `tf.saved_model.load`; `None` loads the model.

    Returns:
        The number of requests.

    Raises:
        ValueError: If there are more than 1,000 requests or one fails; the message
            says which and why.
    """
    requests = read_warmup(version_directory)
    if loaded is None and requests:
        import tensorflow_text  # noqa: F401  registers its operations

        loaded = tf.saved_model.load(os.fspath(version_directory))
    if len(requests) > MAX_RECORDS:
        raise ValueError(
            f"A server takes at most {MAX_RECORDS} warm-up records. Received: "
            f"{len(requests)} in {_path(Path(version_directory))}"
        )
    for i, (signature, inputs) in enumerate(requests):
        try:
            run(loaded, signature, inputs)
        except ValueError as error:
            raise ValueError(
                f"Warm-up record {i} (signature {signature!r}) fails: {error}"
            ) from error
    return len(requests)


def _path(directory: Path) -> Path:
    return directory / "assets.extra" / "tf_serving_warmup_requests"


def _record(model_name: str, signature: str, inputs: dict[str, Any]) -> bytes:
    from keras_bert_lite.serving.messages import PredictionLog

    log = PredictionLog()
    request = log.predict_log.request
    # The server looks the signature up and repeats the name in its answer.
    request.model_spec.name = model_name
    request.model_spec.signature_name = signature
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return log.SerializeToString(deterministic=True)


def _request(where: str, record: bytes) -> tuple[str, dict[str, np.ndarray]]:
    from keras_bert_lite.serving.messages import PredictionLog

    try:
        log = PredictionLog.FromString(record)
    except DecodeError as error:
        raise ValueError(f"{where} is not a PredictionLog ({error}).") from None
    if log.WhichOneof("log_type") != "predict_log":
        raise ValueError(
            f"{where} must hold a Predict request. Received: "
            f"{log.WhichOneof('log_type')}"
        )
    request = log.predict_log.request
    inputs = {name: tf.make_ndarray(x) for name, x in request.inputs.items()}
    return request.model_spec.signature_name or "serving_default", inputs

"""A gRPC client for served models."""

import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from keras_bert_lite.checks import check_installed
from keras_bert_lite.serving.tensor_protos import as_array, as_proto, by_name

# Exceptions by gRPC status code.
ERRORS = {
    "DEADLINE_EXCEEDED": TimeoutError,
    "UNAVAILABLE": ConnectionError,
    "INVALID_ARGUMENT": ValueError,
    "NOT_FOUND": ValueError,
    # TF Serving's answer to an unknown signature.
    "FAILED_PRECONDITION": ValueError,
}
# gRPC makes at most five attempts.
MOST_RETRIES = 4


class Client:
    """A connection to one model of a TensorFlow Serving server.

    It can be shared between threads and used as a context manager:

        with Client("localhost:8500", "sentiment") as client:
            print(client.predict(["a fine day"])["label"])

    Args:
        target: The server's gRPC address, such as `"localhost:8500"`.
        model: The model's name on the server.
        signature: The signature to call.
        version: The version to call; `None` lets the server choose, by default
            the newest.
        timeout: Timeout of a call in seconds, including retries.
        retries: Number of retries when the server is unavailable, 0 to 4. The
            first is after 0.1 s, and the delay doubles each time. Other errors
            are not retried.
        wait_for_ready: Whether calls wait, until the timeout, for a server that
            is not listening yet, instead of failing.
        credentials: Credentials for a TLS connection, such as
            `grpc.ssl_channel_credentials()`; `None` connects without TLS.

    Raises:
        ImportError: If grpcio is not installed.
        TypeError: If `target`, `model` or `signature` is not a string.
        ValueError: If one of them is empty, or `version`, `timeout` or
            `retries` is out of range.
    """

    def __init__(
        self,
        target: str,
        model: str,
        signature: str = "serving_default",
        version: int | None = None,
        timeout: float = 10.0,
        retries: int = 2,
        wait_for_ready: bool = False,
        credentials: Any = None,
    ) -> None:
        for name, text in [
            ("target", target),
            ("model", model),
            ("signature", signature),
        ]:
            _check_text(name, text)
        _check_numbers(version, timeout, retries)
        check_installed("grpc", extra="client")
        import grpc

        from keras_bert_lite.serving.messages import (
            PREDICT,
            PredictRequest,
            PredictResponse,
        )

        self.target, self.model, self.signature = target, model, signature
        self.version, self.timeout = version, timeout
        self.wait_for_ready = wait_for_ready
        options = _channel_options(retries)
        self._channel = (
            grpc.insecure_channel(target, options)
            if credentials is None
            else grpc.secure_channel(target, credentials, options)
        )
        self._predict = self._channel.unary_unary(
            PREDICT,
            request_serializer=PredictRequest.SerializeToString,
            response_deserializer=PredictResponse.FromString,
        )

    def predict(
        self, inputs: Sequence[str | bytes] | Mapping[str, Any]
    ) -> dict[str, np.ndarray]:
        """Returns the model's outputs.

        Args:
            inputs: A list of strings for the input `text`, or a dictionary of
                inputs by name, each a list of strings or an array. Arrays keep
                their dtype: ids must be int32, a padding mask bool.

        Returns:
            Arrays by name, with the batch first. String arrays hold `str`
            (dtype object).

        Raises:
            TypeError: If `inputs` is neither, or mixes strings with other types.
            TimeoutError: If there is no answer within `timeout` seconds.
            ConnectionError: If the server is still unavailable after all retries.
            ValueError: If the server refuses the request, because of an unknown
                model, version, signature or input, or a wrong type or shape.
            RuntimeError: If the server fails in another way.
        """
        import grpc

        from keras_bert_lite.serving.messages import PredictRequest

        request = PredictRequest()
        request.model_spec.name = self.model
        request.model_spec.signature_name = self.signature
        if self.version is not None:
            request.model_spec.version.value = self.version
        for name, value in by_name(inputs).items():
            request.inputs[name].CopyFrom(as_proto(name, value))
        try:
            response = self._predict(
                request, timeout=self.timeout, wait_for_ready=self.wait_for_ready
            )
        except grpc.RpcError as error:
            raise self._explained(error) from error
        return {name: as_array(proto) for name, proto in response.outputs.items()}

    def close(self) -> None:
        """Closes the connection and cancels pending calls."""
        self._channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _explained(self, error: Any) -> Exception:
        version = "" if self.version is None else f" version {self.version}"
        return ERRORS.get(error.code().name, RuntimeError)(
            f"Model {self.model!r}{version}, signature {self.signature!r} at "
            f"{self.target}: {error.code().name}: {error.details()}"
        )


def _check_text(name: str, text: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"`{name}` must be a string. Received: {text!r}")
    if not text:
        raise ValueError(f"`{name}` must not be empty.")


def _check_numbers(version: int | None, timeout: float, retries: int) -> None:
    if version is not None and (type(version) is not int or version < 0):
        raise ValueError(
            f"`version` must be None or a number of at least 0. Received: {version!r}"
        )
    if isinstance(timeout, bool) or not 0 < timeout < float("inf"):
        raise ValueError(
            f"`timeout` must be a positive number of seconds. Received: {timeout!r}"
        )
    if type(retries) is not int or not 0 <= retries <= MOST_RETRIES:
        raise ValueError(
            f"`retries` must be a number from 0 to {MOST_RETRIES}, gRPC's maximum. "
            f"Received: {retries!r}"
        )


def _channel_options(retries: int) -> list[tuple[str, Any]]:
    options: list[tuple[str, Any]] = [
        ("grpc.max_send_message_length", -1),
        ("grpc.max_receive_message_length", -1),
        # By default a channel reconnects after a second, which is longer than the
        # first three retries take.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2000),
        # Requests larger than this buffer are not retried.
        ("grpc.per_rpc_retry_buffer_size", 2**31 - 1),
    ]
    if retries:
        policy = {
            "maxAttempts": retries + 1,
            "initialBackoff": "0.1s",
            "maxBackoff": "2s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"],
        }
        service = [{"service": "tensorflow.serving.PredictionService"}]
        config = {"methodConfig": [{"name": service, "retryPolicy": policy}]}
        options.append(("grpc.service_config", json.dumps(config)))
    return options

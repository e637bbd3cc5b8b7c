"""Calls a served model over gRPC."""

import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from keras_bert_lite.serving.tensor_protos import as_array, as_proto, by_name

# By the name of gRPC's status.
ERRORS = {
    "DEADLINE_EXCEEDED": TimeoutError,
    "UNAVAILABLE": ConnectionError,
    "INVALID_ARGUMENT": ValueError,
    "NOT_FOUND": ValueError,
    # What TF Serving answers to a signature that the model does not have.
    "FAILED_PRECONDITION": ValueError,
}
# gRPC itself makes no more than five attempts.
MOST_RETRIES = 4


class Client:
    """A connection to one model of a TensorFlow Serving server.

    It may be shared by threads, and is a context manager that closes itself:

        with Client("localhost:8500", "sentiment") as client:
            print(client.predict(["a fine day"])["label"])

    Args:
        target: The server's gRPC address, such as `"localhost:8500"`.
        model: The name under which the server knows the model.
        signature: The signature to call.
        version: The version to call; `None` lets the server choose, which is
            the newest one unless it was told otherwise.
        timeout: Seconds after which a call is given up, its retries included.
        retries: How often a call is repeated when the server is unavailable,
            0 to 4, after 0.1 s at first and then twice as long each time. No
            other failure is repeated.
        wait_for_ready: Whether a call to a server that does not listen yet
            waits for it, until the timeout, instead of failing.
        credentials: For a TLS connection, such as
            `grpc.ssl_channel_credentials()`; `None` connects without.

    Raises:
        TypeError: If `target`, `model` or `signature` is not a string.
        ValueError: If one of these is empty, or `version`, `timeout` or
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
        # Imported late: only a client needs them.
        import grpc
        from tensorflow_serving.apis import prediction_service_pb2_grpc

        self.target, self.model, self.signature = target, model, signature
        self.version, self.timeout = version, timeout
        self.wait_for_ready = wait_for_ready
        options = _channel_options(retries)
        self._channel = (
            grpc.insecure_channel(target, options)
            if credentials is None
            else grpc.secure_channel(target, credentials, options)
        )
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)

    def predict(
        self, inputs: Sequence[str | bytes] | Mapping[str, Any]
    ) -> dict[str, np.ndarray]:
        """Returns the model's outputs.

        Args:
            inputs: A list of strings, for a signature that takes `text`; or the
                inputs by name, each a list of strings or an array. Arrays keep
                their type: ids must be int32, a padding mask bool.

        Returns:
            Arrays by name, the first axis being the inputs'. Those of strings
            hold `str` (dtype object).

        Raises:
            TypeError: If `inputs` is neither, or mixes strings with others.
            TimeoutError: If there was no answer within `timeout` seconds.
            ConnectionError: If the server is unavailable, after all retries.
            ValueError: If the server refused the request: no such model,
                version, signature or input, a wrong type or shape.
            RuntimeError: If the server failed in another way.
        """
        import grpc
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        request.model_spec.name = self.model
        request.model_spec.signature_name = self.signature
        if self.version is not None:
            request.model_spec.version.value = self.version
        for name, value in by_name(inputs).items():
            request.inputs[name].CopyFrom(as_proto(name, value))
        try:
            response = self._stub.Predict(
                request, timeout=self.timeout, wait_for_ready=self.wait_for_ready
            )
        except grpc.RpcError as error:
            raise self._explained(error) from error
        return {name: as_array(proto) for name, proto in response.outputs.items()}

    def close(self) -> None:
        """Ends the connection; calls under way are cancelled."""
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
            f"`retries` must be a number from 0 to {MOST_RETRIES}, the most that gRPC "
            f"makes. Received: {retries!r}"
        )


def _channel_options(retries: int) -> list[tuple[str, Any]]:
    options: list[tuple[str, Any]] = [
        ("grpc.max_send_message_length", -1),
        ("grpc.max_receive_message_length", -1),
        # A channel that could not connect does not try again for a second, unless
        # told otherwise: longer than the first three retries take.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2000),
        # Requests that do not fit here are not repeated.
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

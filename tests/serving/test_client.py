"""The client alone: what it refuses, what it sends, when it tries again."""

import contextlib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from keras_bert_lite.serving.client import Client
from keras_bert_lite.serving.tensor_protos import as_array, as_proto

NOBODY = "localhost:1"
HARD = ["日本語 😀", "a\0b", "\0", b"\xff\xfe a", "x" * 1_000_000, " \t", ""]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target", ""),
        ("model", ""),
        ("signature", ""),
        ("version", -1),
        ("version", True),
        ("timeout", 0),
        ("timeout", float("inf")),
        ("timeout", float("nan")),
        ("retries", -1),
        ("retries", 5),
        ("retries", 1.0),
    ],
)
def test_arguments_refused(name, value):
    arguments = {"target": NOBODY, "model": "mood", name: value}
    with pytest.raises(ValueError, match=f"`{name}` must"):
        Client(**arguments)


@pytest.mark.parametrize("name", ["target", "model", "signature"])
def test_names_must_be_strings(name):
    arguments = {"target": NOBODY, "model": "mood", name: 1}
    with pytest.raises(TypeError, match=f"`{name}` must be a string. Received: 1"):
        Client(**arguments)


@pytest.mark.parametrize("inputs", ["a day", b"a", None, 1, {"a"}])
def test_inputs_are_batches(inputs):
    with Client(NOBODY, "mood") as client, pytest.raises(TypeError, match="`inputs`"):
        client.predict(inputs)


@pytest.mark.parametrize("value", ["a day", ["a", None], ["a", 1], 1, None])
def test_values_that_are_no_batch(value):
    with pytest.raises(TypeError, match=r"`inputs\['text'\]` must be a list of"):
        as_proto("text", value)


@pytest.mark.parametrize("value", [[None], [["a"], ["b", "c"]], [[1], [2, 3]]])
def test_values_that_cannot_be_sent(value):
    with pytest.raises(ValueError, match=r"`inputs\['text'\]` cannot be sent"):
        as_proto("text", value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (HARD, [x if isinstance(x, str) else "\ufffd\ufffd a" for x in HARD]),
        ([], []),
        ([["a", "b"], ["c", "é"]], [["a", "b"], ["c", "é"]]),
        (np.array(["a", "é"]), ["a", "é"]),
    ],
)
def test_strings_there_and_back(value, expected):
    array = as_array(as_proto("text", value))
    assert array.dtype == object
    assert array.tolist() == expected


@pytest.mark.parametrize("kind", ["int32", "int64", "bool", "float32", "float16"])
def test_arrays_keep_their_type(kind):
    for shape in [(2, 3), (0, 3)]:
        array = as_array(as_proto("x", np.ones(shape, kind)))
        assert (array.dtype, array.shape) == (kind, shape)


class Echo(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Returns the inputs, after some failures."""

    def __init__(self, failures, code, seconds):
        self.failures, self.code, self.seconds = failures, code, seconds
        self.calls = 0

    def Predict(self, request, context):
        self.calls += 1
        time.sleep(self.seconds)
        if self.calls <= self.failures:
            context.abort(self.code, "the reason")
        return predict_pb2.PredictResponse(outputs=request.inputs)


@contextlib.contextmanager
def echo(
    failures=0,
    code=grpc.StatusCode.UNAVAILABLE,
    seconds=0.0,
    port=0,
    credentials=None,
):
    servicer = Echo(failures, code, seconds)
    # Without the option, a second server may share the port.
    server = grpc.server(
        ThreadPoolExecutor(2),
        options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)],
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        servicer, server
    )
    address = f"localhost:{port}"
    port = (
        server.add_insecure_port(address)
        if credentials is None
        else server.add_secure_port(address, credentials)
    )
    server.start()
    try:
        yield servicer, f"localhost:{port}"
    finally:
        server.stop(None).wait()


def test_each_call_names_model_signature_and_version(monkeypatch):
    with Client(NOBODY, "mood", "token_ids", version=2, timeout=3) as client:
        calls = []

        def predict(request, **options):
            calls.append((request, options))
            return predict_pb2.PredictResponse()

        monkeypatch.setattr(client, "_predict", predict)
        assert client.predict({"x": [1]}) == {}
    ((request, options),) = calls
    assert request.model_spec.name == "mood"
    assert request.model_spec.signature_name == "token_ids"
    assert request.model_spec.version.value == 2
    assert list(request.inputs) == ["x"]
    assert options == {"timeout": 3, "wait_for_ready": False}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.DEADLINE_EXCEEDED, TimeoutError),
        (grpc.StatusCode.UNAVAILABLE, ConnectionError),
        (grpc.StatusCode.NOT_FOUND, ValueError),
        (grpc.StatusCode.INVALID_ARGUMENT, ValueError),
        (grpc.StatusCode.FAILED_PRECONDITION, ValueError),
        (grpc.StatusCode.INTERNAL, RuntimeError),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, RuntimeError),
    ],
)
def test_errors_are_pythons_own(code, kind):
    with (
        echo(failures=9, code=code) as (servicer, target),
        Client(target, "mood", version=3, retries=1) as client,
        pytest.raises(kind) as caught,
    ):
        client.predict(["a day"])
    assert str(caught.value) == (
        f"Model 'mood' version 3, signature 'serving_default' at {target}: "
        f"{code.name}: the reason"
    )
    assert servicer.calls == (2 if code is grpc.StatusCode.UNAVAILABLE else 1)


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("text", ["a day", "x" * 1_000_000])
def test_retries(retries, text):
    with echo(failures=2) as (servicer, target):
        with Client(target, "mood", retries=retries) as client:
            if retries:
                assert client.predict([text])["text"].tolist() == [text]
            else:
                with pytest.raises(ConnectionError, match="UNAVAILABLE: the reason"):
                    client.predict([text])
        assert servicer.calls == retries + 1


def test_deadline():
    with echo(seconds=0.5) as (servicer, target):
        with (
            Client(target, "mood", timeout=0.1) as client,
            pytest.raises(TimeoutError, match=r"'mood'.*DEADLINE_EXCEEDED"),
        ):
            client.predict(["a day"])
        assert servicer.calls == 1


def test_nobody_listens():
    with (
        Client(NOBODY, "mood") as client,
        pytest.raises(ConnectionError, match=r"'mood'.*localhost:1: UNAVAILABLE"),
    ):
        client.predict(["a day"])
    with (
        Client(NOBODY, "mood", timeout=0.3, wait_for_ready=True) as client,
        pytest.raises(TimeoutError, match="DEADLINE_EXCEEDED"),
    ):
        client.predict(["a day"])


@pytest.mark.parametrize(
    "options", [{"retries": 3}, {"retries": 0, "wait_for_ready": True}]
)
def test_a_server_that_comes_up_late(options):
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        port = listener.getsockname()[1]
    with contextlib.ExitStack() as stack:
        timer = threading.Timer(0.2, lambda: stack.enter_context(echo(port=port)))
        timer.start()
        with Client(f"localhost:{port}", "mood", **options) as client:
            assert client.predict(["a day"])["text"].tolist() == ["a day"]
        timer.join()


def test_credentials():
    with (
        echo(credentials=grpc.local_server_credentials()) as (_, target),
        Client(target, "mood", credentials=grpc.local_channel_credentials()) as client,
    ):
        assert client.predict(["a day"])["text"].tolist() == ["a day"]


def test_a_closed_client():
    with Client(NOBODY, "mood") as client:
        pass
    with pytest.raises(ValueError, match="closed channel"):
        client.predict(["a day"])


def test_threads_share_a_client():
    with echo() as (servicer, target), Client(target, "mood") as client:
        with ThreadPoolExecutor(8) as threads:
            answers = threads.map(lambda i: client.predict([str(i)])["text"], range(64))
            assert [x.tolist() for x in answers] == [[str(i)] for i in range(64)]
        assert servicer.calls == 64

import concurrent.futures
import socket

import pytest

from keras_bert_lite.distribution.roll_call import roll_call


@pytest.fixture
def address():
    with socket.create_server(("localhost", 0)) as server:
        return f"localhost:{server.getsockname()[1]}"


def called(address, present, count, timeout):
    """Returns the message that each process gets, of those that are present."""

    def call(number):
        try:
            roll_call(address, count, number, timeout)
        except TimeoutError as error:
            return str(error)
        return None

    with concurrent.futures.ThreadPoolExecutor() as threads:
        return list(threads.map(call, present))


def test_all_are_there(address):
    assert called(address, (2, 1, 0), 3, 30) == [None] * 3


def test_absent_processes_are_named(address):
    messages = called(address, (0, 2), 4, 1.0)
    assert messages[0] == messages[1]
    assert "All 4 processes must join within 1.0 s" in messages[0]
    assert "Received: nothing from processes 1, 3" in messages[0]


def test_first_process_is_absent(address):
    (message,) = called(address, (1,), 2, 0.5)
    assert "Received: nothing from process 0;" in message

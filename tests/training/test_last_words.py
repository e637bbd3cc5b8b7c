"""The last words of a process that JAX has ended."""

import socket
import subprocess
import sys

import pytest

from keras_bert_lite.training import last_words


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def address(server):
    return "{}:{}".format(*server.getsockname())


def said(address, written):
    """What is printed when the pipe is closed, with `written` in it."""
    command = [sys.executable, "-S", last_words.__file__, address, "Process 0 is lost"]
    done = subprocess.run(
        command, input=written, stderr=subprocess.PIPE, check=True, text=True
    )
    return done.stderr


def test_a_lost_coordinator_is_named(server):
    gone = address(server)
    server.close()
    assert said(gone, "") == "Process 0 is lost\n"


def test_nothing_is_said_while_the_coordinator_is_there(server):
    assert said(address(server), "") == ""


def test_nothing_is_said_once_closed(capfd):
    last_words.LastWords("127.0.0.1:1", "Process 0 is lost").close()
    assert capfd.readouterr().err == ""
    assert said("127.0.0.1:1", "closed") == ""

"""Finds which processes of a run are there, before JAX waits for all of them.

JAX ends a process that waits in vain with a stack trace that names nobody.
"""

import contextlib
import json
import socket
import time
from collections.abc import Iterable


def roll_call(
    address: str, num_processes: int, process_id: int, timeout: float
) -> None:
    """Returns once all processes are there.

    Process 0 listens at the port behind that of `address`; the others tell it their
    numbers and wait for its answer.

    Args:
        address: The address of process 0, `host:port`.
        num_processes, process_id: How many there are, and which one this is.
        timeout: How many seconds to wait.

    Raises:
        TimeoutError: If one does not join in time; it is named on all that did.
    """
    host, port = address.rsplit(":", 1)
    end = time.monotonic() + timeout
    if process_id == 0:
        absent = _listen(int(port) + 1, num_processes, end)
    else:
        absent = _report(host, int(port) + 1, process_id, end)
    if absent:
        raise TimeoutError(
            f"All {num_processes} processes must join within {timeout} s (`timeout`), "
            f"at {address}. Received: nothing from {_named(absent)}; look at their logs"
        )


def _listen(port: int, num_processes: int, end: float) -> list[int]:
    """Hears the others, tells them who is absent, and returns that."""
    absent = set(range(1, num_processes))
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("", port)))
        heard = []
        while absent and time.monotonic() < end:
            server.settimeout(max(end - time.monotonic(), 0.01))
            with contextlib.suppress(TimeoutError):
                connection = stack.enter_context(server.accept()[0])
                heard.append(connection)
                connection.settimeout(5)
                absent.discard(json.loads(connection.makefile().readline()))
        for connection in heard:
            with contextlib.suppress(OSError):  # it has ended in the meantime
                connection.sendall(f"{json.dumps(sorted(absent))}\n".encode())
    return sorted(absent)


def _report(host: str, port: int, process_id: int, end: float) -> list[int]:
    """Tells process 0 that this one is there, and returns who is absent."""
    while time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError):  # it is not there yet, or ended
            left = max(end - time.monotonic(), 0.01)
            with socket.create_connection((host, port), timeout=left) as connection:
                connection.sendall(f"{process_id}\n".encode())
                connection.settimeout(left + 5)  # it may have begun to wait later
                return json.loads(connection.makefile().readline())
        time.sleep(0.2)
    return [0]


def _named(processes: Iterable[int]) -> str:
    numbers = [str(x) for x in processes]
    return (
        f"process {numbers[0]}"
        if len(numbers) == 1
        else f"processes {', '.join(numbers)}"
    )

"""What is said when JAX ends a process because its coordinator is lost.

JAX does that at once, from a thread of its own and without a signal, and its words name
no process that a user started. So a process beside it, this file, says the rest.
"""

import socket
import subprocess
import sys
from pathlib import Path

PATIENCE = 10.0  # seconds to reach the coordinator


class LastWords:
    """A small process that prints a message if this one ends without `close`.

    It prints only if nobody listens at an address any more.

    Args:
        address: `host:port`.
        message: To standard error.
    """

    def __init__(self, address: str, message: str) -> None:
        # In a session of its own, which Ctrl-C does not reach.
        self._process = subprocess.Popen(
            [sys.executable, "-S", str(Path(__file__)), address, message],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def close(self) -> None:
        """Ends it without a word."""
        self._process.communicate(b"closed")


def _main(address: str, message: str) -> None:
    if sys.stdin.read():  # as the pipe of a process that ended without a word is empty
        return
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except OSError:
        print(message, file=sys.stderr)


if __name__ == "__main__":
    _main(*sys.argv[1:])

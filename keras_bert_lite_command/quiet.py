"""Keeps what TensorFlow logs at its start from the user's screen."""

import contextlib
import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator

# Lines of absl's and TensorFlow's C++ loggers, which no Python setting silences
# before they are initialized.
NOISE = re.compile(
    rb"WARNING: All log messages before absl"
    rb"|[IWE]\d{4} \d\d:\d\d:\d\d"
    rb"|[IWE]0000 00:00:"
    rb"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] "
    rb"|To enable the following instructions:"
)


@contextlib.contextmanager
def without_noise() -> Iterator[None]:
    """Drops such lines of standard error, and shows warnings in a line each."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    sys.stderr.flush()
    real = os.dup(2)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    thread = threading.Thread(target=_copy, args=(reading, real), daemon=True)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show
            yield
    finally:
        sys.stderr.flush()
        os.dup2(real, 2)  # closes the last end of the pipe, which ends the thread
        thread.join()
        os.close(reading)
        os.close(real)


def _copy(reading: int, real: int) -> None:
    """Copies whole lines that are no noise."""
    rest = b""
    while part := os.read(reading, 1 << 16):
        *lines, rest = (rest + part).split(b"\n")
        kept = [line + b"\n" for line in lines if not NOISE.match(line)]
        if rest.endswith(b"\r") and not NOISE.match(rest):  # a bar, drawn over later
            kept, rest = [*kept, rest], b""
        os.write(real, b"".join(kept))
    if rest and not NOISE.match(rest):
        os.write(real, rest)


def _show(message, category, filename, lineno, file=None, line=None) -> None:
    print(f"warning: {message}", file=sys.stderr)

"""The `keras-bert-lite` command.

It is outside the package, because importing any module of the package imports
TensorFlow, which takes seconds and which `--help`, `--version` and wrong arguments do
not need. Each verb is a function of the package with the same options: see `verbs.py`.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from importlib import metadata

from keras_bert_lite_command import verbs
from keras_bert_lite_command.quiet import without_noise

PROGRAM = "keras-bert-lite"
DEBUG = "--debug"
EXPECTED = (ValueError, TypeError, OSError, ImportError, NotImplementedError)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    debug = DEBUG in given
    given = [x for x in given if x != DEBUG]
    words = _words(given)
    if not words:
        with _errors_in_one_line():
            sys.exit(_without_a_verb(given))
    verb, rest = " ".join(given[:words]), given[words:]
    if debug:
        verbs.run(verb, rest)
        return
    with without_noise(), _errors_in_one_line(verb):
        verbs.run(verb, rest)


def _words(arguments: list[str]) -> int:
    """Returns how many of the first arguments are a verb: `export onnx` is one."""
    return next((n for n in (2, 1) if " ".join(arguments[:n]) in verbs.VERBS), 0)


def _without_a_verb(given: list[str]) -> int:
    """Shows which verbs there are, or the version, and returns the status."""
    if given[:1] == ["--version"]:
        print(f"{PROGRAM} {metadata.version(PROGRAM)}")
        return 0
    if given[:1] in (["--help"], ["-h"]):
        print(_help())
        return 0
    if not given:
        print(_help(), file=sys.stderr)
        return 2
    longer = [name for name in verbs.VERBS if name.startswith(f"{given[0]} ")]
    if longer and {"-h", "--help"} & set(given[1:]):
        summaries = verbs.summaries()
        print("\n".join(f"{PROGRAM} {name:20}{summaries[name]}" for name in longer))
        return 0
    names = ", ".join(longer or verbs.VERBS)
    received = " ".join(given[:2]) if longer else given[0]
    print(
        f"error: the verb must be one of {names}. Received: {received!r}"
        f" (`{PROGRAM} --help`)",
        file=sys.stderr,
    )
    return 2


def _help() -> str:
    lines = [
        f"usage: {PROGRAM} [--version] [--help] [--debug] VERB ...",
        "",
        "BERT as Keras layers: from raw text to a served model.",
        "",
        *(f"  {name:20}{text}" for name, text in verbs.summaries().items()),
        "",
        f"`{PROGRAM} VERB --help` shows the options of a verb. --debug shows the",
        "traceback of an error, and what TensorFlow logs.",
    ]
    return "\n".join(lines)


@contextlib.contextmanager
def _errors_in_one_line(verb: str = "") -> Iterator[None]:
    """Ends the program with a line about an error, and a status other than 0."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here, so that an error of it is told too
    except KeyboardInterrupt:
        goes_on = "; the same command goes on" if verb in verbs.RESUMED else ""
        print(f"\ninterrupted{goes_on}", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except EXPECTED as error:
        print(f"error: {_line(error)}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        print(
            f"error: {type(error).__name__}: {_line(error)} ({DEBUG} shows where)",
            file=sys.stderr,
        )
        sys.exit(1)


def _line(error: Exception) -> str:
    """Returns an error's message in one line."""
    return " ".join(str(error).split("\n"))

"""The `keras-bert-lite` command.

It is outside the package, because importing any module of the package imports
TensorFlow, which takes seconds and which `--help`, `--version` and wrong arguments do
not need. Each verb is a public function, whose options are read from its source; see
`verbs.py`.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from keras_bert_lite_command.parser import Parser, WrongArgument, read_options
from keras_bert_lite_command.quiet import without_noise
from keras_bert_lite_command.verbs import VERBS

PROGRAM = "keras-bert-lite"
EXPECTED = (ValueError, TypeError, OSError, ImportError, NotImplementedError)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command."""
    common = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    common.add_argument("--config", type=Path)
    common.add_argument("--print-config", "--print_config", action="store_true")
    common.add_argument("--debug", action="store_true")
    given = sys.argv[1:] if arguments is None else list(arguments)
    chosen, words = common.parse_known_args(given)
    with contextlib.ExitStack() as stack:
        if not chosen.debug:
            stack.enter_context(_errors_in_one_line(words))
            stack.enter_context(without_noise())
        count = _words(words)
        if not count:
            _without_a_verb(words)
            return
        name = " ".join(words[:count])
        verb = VERBS[name]
        options = verb.options()
        in_file = read_options(chosen.config, options) if chosen.config else {}
        example = f"Example: {PROGRAM} {name} {verb.example}".rstrip()
        again = "\nWhat was interrupted goes on when it is called again."
        description = f"{verb.summary}\n\n{example}{again * verb.resumes}"
        parser = Parser(f"{PROGRAM} {name}", description, options, in_file)
        values = dict(in_file)
        for option, value in parser.parse(words[count:]).items():
            both = [in_file.get(option), value]
            keyed = all(isinstance(x, dict) for x in both)
            # The keys of a file stay beside those that are given.
            values[option] = both[0] | both[1] if keyed else value
        if chosen.print_config:
            import yaml

            values = {x.name: values.get(x.name, x.default) for x in options}
            print(yaml.safe_dump(values, sort_keys=False), end="")
        else:
            verb.run(values)


def _words(words: list[str]) -> int:
    """Returns how many of the first words are a verb: `export onnx` is one."""
    return next((n for n in (2, 1) if " ".join(words[:n]) in VERBS), 0)


def _without_a_verb(words: list[str]) -> None:
    """Shows which verbs there are, or the version.

    Raises:
        WrongArgument: If there is no such verb.
    """
    group = [name for name in VERBS if words and name.startswith(f"{words[0]} ")]
    asks = bool({"-h", "--help"} & set(words[-1:]))
    if words == ["--version"]:
        print(f"{PROGRAM} {metadata.version(PROGRAM)}")
    elif not words or (asks and (group or len(words) == 1)):
        for line in _help(group or list(VERBS)):
            print(line)
    else:
        known = ", ".join(group or VERBS)
        received = " ".join(words[:2] if group else words[:1])
        raise WrongArgument(f"the verb must be one of {known}. Received: {received!r}")


def _help(names: list[str]) -> Iterator[str]:
    yield f"usage: {PROGRAM} [--version] [--help] VERB ...\n"
    yield "BERT as Keras layers: from raw text to a served model.\n"
    for name in names:
        yield f"  {name:20}{VERBS[name].summary}"
    yield f"\n`{PROGRAM} VERB --help` shows the options of a verb. Each verb also takes"
    yield "--config FILE, a YAML file of its options; --print-config, which prints one;"
    yield "and --debug, which shows the traceback of an error and what TensorFlow logs."


@contextlib.contextmanager
def _errors_in_one_line(words: list[str]) -> Iterator[None]:
    """Ends the program with a line about an error, and a status other than 0."""
    verb = " ".join(words[: _words(words)])
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here, so that an error of it is told too
    except KeyboardInterrupt:
        goes_on = "; the same command goes on" if verb and VERBS[verb].resumes else ""
        print(f"\ninterrupted{goes_on}", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except WrongArgument as error:
        command = " ".join(filter(None, (PROGRAM, verb, "--help")))
        print(f"error: {_line(error)} (`{command}`)", file=sys.stderr)
        sys.exit(2)
    except EXPECTED as error:
        print(f"error: {_line(error)}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        print(
            f"error: {type(error).__name__}: {_line(error)} (--debug shows where)",
            file=sys.stderr,
        )
        sys.exit(1)


def _line(error: Exception) -> str:
    """Returns an error's message in one line."""
    return " ".join(str(error).split())

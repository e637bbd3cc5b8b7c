"""The verbs: functions whose signatures are their options.

Each signature is that of a public function of the package, so that `--help` need not
import the package; `tests/cli/test_functions.py` compares them. Options are parsed by
jsonargparse; what a signature requires by keyword only is an option, not a position.
The docstrings are what `--help` shows.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, Literal, NoReturn, get_args, get_origin

from keras_bert_lite_command import functions, pretraining
from keras_bert_lite_command.spelling import check_file, spelled

VERBS: dict[str, Callable[..., None]] = {
    "demo": functions.demo,
    "fit": functions.fit,
    "predict": functions.predict,
    "evaluate": functions.evaluate,
    "debug-data": functions.debug_data,
    "export saved-model": functions.export_saved_model,
    "export onnx": functions.export_onnx,
    "export openvino": functions.export_openvino,
    "export litert": functions.export_litert,
    "check": functions.check,
    "convert": functions.convert,
    "tokenize": functions.tokenize,
    "summary": functions.summary,
    "vocabulary": pretraining.vocabulary,
    "pretraining-data": pretraining.pretraining_data,
    "pretrain": pretraining.pretrain,
    "distil": pretraining.distil,
}
FILE = "--config="
RESUMED = ("fit", "pretraining-data", "pretrain", "distil")  # go on when run again


def summaries() -> dict[str, str]:
    """Returns a line about each verb."""
    return {name: _first_line(verb) for name, verb in VERBS.items()}


def run(verb: str, arguments: list[str]) -> None:
    """Runs a verb; its options may stand in a YAML file (`--config`)."""
    import jsonargparse

    class Formatter(
        jsonargparse.DefaultHelpFormatter, argparse.RawDescriptionHelpFormatter
    ):
        """Keeps the lines of examples whole."""

    function = VERBS[verb]

    class Parser(jsonargparse.ArgumentParser):
        """Tells of a wrong argument in one line, without the usage."""

        def error(self, message: str, ex: Exception | None = None) -> NoReturn:
            told = _told(function, message)
            print(f"error: {told} (`{self.prog} --help`)", file=sys.stderr)
            raise SystemExit(2) from ex

    parser = Parser(
        prog=f"keras-bert-lite {verb}",
        description=_doc(function).split("\n\nArgs:")[0],
        formatter_class=Formatter,
    )
    parser.add_argument("--config", action="config", help="a YAML file of options")
    parser.add_function_arguments(function, as_positional=True)
    try:
        arguments = spelled(function, arguments)
        for word in arguments:
            if word.startswith(FILE):
                check_file(word.removeprefix(FILE), function)
    except ValueError as error:
        parser.error(str(error))
    options: dict[str, Any] = parser.parse_args(arguments).as_dict()
    del options["config"]
    function(**options)


def _told(function: Callable[..., None], message: str) -> str:
    """Returns the parser's message as a sentence."""
    key = re.match(r'Parser key "(\w+)"', message)
    given = re.findall(r"G(?:ot|iven) value: (.*)", message)
    if key is None or not given:
        told = message.replace('"<unicode string>"', "the YAML file")
        return re.sub(r'Parser key "(\w+)"', r"`\1`", " ".join(told.split()))
    kind = inspect.signature(function).parameters[key[1]].annotation
    return f"`{key[1]}` must be {_wanted(key[1], kind)}. Received: {given[-1]}"


def _wanted(name: str, kind: Any) -> str:
    """Returns what an annotation asks for, as one writes it."""
    kinds = {get_origin(x) or x: x for x in (kind, *get_args(kind))}
    if Literal in kinds:
        flags = ("true", "false") if bool in kinds else ()
        return "one of " + ", ".join((*get_args(kinds[Literal]), *flags))
    if list in kinds:
        return f"a list, as --{name}+ VALUE for each, or JSON"
    if dict in kinds:
        return f"given as --{name}.NAME=VALUE, or JSON"
    return getattr(kind, "__name__", str(kind)).replace("None", "null")


def _doc(verb: Callable[..., None]) -> str:
    return inspect.getdoc(verb) or ""


def _first_line(verb: Callable[..., None]) -> str:
    line = _doc(verb).split("\n")[0].removesuffix(".")
    return line[0].lower() + line[1:]

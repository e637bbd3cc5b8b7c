"""The verbs: functions whose signatures are their options.

Each signature is that of a public function of the package, so that `--help` need not
import the package; `tests/cli/test_functions.py` compares them. Options are parsed by
jsonargparse; what a signature requires by keyword only is an option, not a position.
The docstrings are what `--help` shows.
"""

import argparse
import inspect
from collections.abc import Callable
from typing import Any

from keras_bert_lite_command import functions, pretraining
from keras_bert_lite_command.spelling import spelled

VERBS: dict[str, Callable[..., None]] = {
    "demo": functions.demo,
    "fit": functions.fit,
    "predict": functions.predict,
    "evaluate": functions.evaluate,
    "debug-data": functions.debug_data,
    "export saved-model": functions.export_saved_model,
    "export onnx": functions.export_onnx,
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
    parser = jsonargparse.ArgumentParser(
        prog=f"keras-bert-lite {verb}",
        description=_doc(function).split("\n\nArgs:")[0],
        formatter_class=Formatter,
    )
    parser.add_argument("--config", action="config", help="a YAML file of options")
    parser.add_function_arguments(function, as_positional=True)
    options: dict[str, Any] = parser.parse_args(spelled(function, arguments)).as_dict()
    del options["config"]
    function(**options)


def _doc(verb: Callable[..., None]) -> str:
    return inspect.getdoc(verb) or ""


def _first_line(verb: Callable[..., None]) -> str:
    line = _doc(verb).split("\n")[0].removesuffix(".")
    return line[0].lower() + line[1:]

"""The `keras-bert-lite` command: its arguments.

It is outside the package, because importing any module of the package imports
TensorFlow, which takes seconds and which `--help`, `--version` and wrong arguments do
not need. The commands themselves are in `keras_bert_lite.cli`.
"""

import argparse
import importlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any


def main(arguments: list[str] | None = None) -> None:
    """Runs the command."""
    options = _parser().parse_args(arguments)
    module, function = options.run
    getattr(importlib.import_module(f"keras_bert_lite.cli.{module}"), function)(options)


class _Version(argparse.Action):
    """Prints the version, which is only looked up for this option."""

    def __call__(self, parser, namespace, values, option_string=None):
        print(f"keras-bert-lite {metadata.version('keras-bert-lite')}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="keras-bert-lite",
        description="BERT as Keras layers: from raw text to a served model.",
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="print the version and exit"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _add_demo(commands)
    _add_check(commands)
    _add_vocabulary(commands)
    _add_data(commands)
    _add_pretrain(commands)
    _add_distil(commands)
    return parser


def _add_demo(commands: Any) -> None:
    parser = commands.add_parser(
        "demo", help="train, evaluate, export and serve a small classifier"
    )
    parser.add_argument(
        "--directory",
        type=Path,
        default=Path("saved_models/messages"),
        help="where the SavedModel goes (default: %(default)s)",
    )
    parser.add_argument("--epochs", type=int, default=1)
    parser.set_defaults(run=("demo", "main"))


def _add_check(commands: Any) -> None:
    parser = commands.add_parser(
        "check", help="say whether TF Serving can serve a SavedModel"
    )
    parser.add_argument(
        "path", type=Path, help="a version directory, or a model's directory of them"
    )
    parser.add_argument(
        "--run",
        dest="running",
        action=argparse.BooleanOptionalAction,
        help="load and run it here, whatever its operations are, or not at all "
        "(default: unless they work on files, or no server has them)",
    )
    parser.set_defaults(run=("check", "main"))


def _add_vocabulary(commands: Any) -> None:
    parser = commands.add_parser(
        "vocabulary", help="learn a WordPiece vocabulary from text"
    )
    parser.add_argument("text", nargs="+", type=Path, help="UTF-8 text files")
    parser.add_argument("--directory", required=True, type=Path, help="for the result")
    parser.add_argument("--size", type=int, default=8192, help="pieces at most")
    parser.add_argument("--cased", action="store_true", help="keep case and accents")
    parser.set_defaults(run=("pretrain", "vocabulary"))


def _add_data(commands: Any) -> None:
    parser = commands.add_parser(
        "pretraining-data", help="turn text into data for pretraining"
    )
    add = parser.add_argument
    add("text", nargs="+", type=Path, help="UTF-8 text files, .gz or .xz if compressed")
    add("--directory", required=True, type=Path, help="for the result")
    add("--preprocessor", required=True, help="a name, a directory, or hf://")
    add("--sequence-length", type=int, default=128, help="tokens of a row")
    add(
        "--objective",
        choices=("next_sentence", "sentence_order", "none"),
        help="beside masked words; pairs too long for a row are cut (default: "
        "next_sentence)",
    )
    add("--sentences", choices=("lines", "split"), help="a sentence a line, or prose")
    add("--short-share", type=float, help="share of rows of a random length")
    add("--pack", action="store_true", default=None, help="several texts in a row")
    add("--repeats", type=int, help="how often each document is used")
    add("--masking", type=json.loads, help="mask once, with these options (JSON)")
    add("--chunk-bytes", type=int, help="text of a shard")
    add("--seed", type=int)
    parser.add_argument("--workers", type=int, help="threads (default: all cores)")
    parser.set_defaults(run=("pretrain", "pretraining_data"))


def _add_pretrain(commands: Any) -> None:
    parser = commands.add_parser("pretrain", help="pretrain an encoder, or go on")
    add = parser.add_argument
    add("data", type=Path, help="made by pretraining-data")
    _add_run_options(parser)
    add("--replaced-tokens", action="store_true", help="train as ELECTRA does")
    add("--optimizer", choices=("adamw", "lamb"))
    add("--validation", type=Path, help="data that are held out")
    add("--precision", choices=("float32", "mixed_float16", "mixed_bfloat16"))
    add("--gradient-checkpointing", action="store_true")
    add("--tensorboard", type=Path, help="where to log")
    parser.set_defaults(run=("pretrain", "pretrain"))


def _add_distil(commands: Any) -> None:
    parser = commands.add_parser(
        "distil", help="train a small encoder to see words as a large one does"
    )
    add = parser.add_argument
    add("text", nargs="+", type=Path, help="UTF-8 text files, .gz or .xz if compressed")
    _add_run_options(parser)
    add("--teacher", required=True, help="a checkpoint: see load_encoder")
    add(
        "--preprocessor", required=True, help="a directory with the student's tokenizer"
    )
    add("--sequence-length", type=int, default=128, help="tokens of a text")
    add("--sentences", choices=("lines", "split"), help="a sentence a line, or prose")
    add("--pairs", action="store_true", help="two texts in a row, too")
    add("--validation", nargs="+", type=Path, help="text files that are held out")
    add("--dtype", choices=("float32", "float16", "bfloat16"), help="of the result")
    add("--dropout", type=float, help="rate that the result has, to be fine-tuned with")
    parser.set_defaults(run=("distil", "main"))


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of all training runs."""
    add = parser.add_argument
    add("--directory", required=True, type=Path, help="of the run, its saves and model")
    add = parser.add_mutually_exclusive_group(required=True).add_argument
    add("--config", help="a published name, or a JSON file of EncoderConfig's fields")
    add("--model", help="begin with a checkpoint's weights instead: a directory, hf://")
    add = parser.add_argument
    add("--steps", required=True, type=int)
    add("--batch-size", type=int)
    add("--learning-rate", type=float)
    add("--warmup", type=float, help="share of the steps")
    add("--weight-decay", type=float)
    add("--accumulate", type=int, help="steps of an update")
    add("--save-every", type=int)
    add("--seed", type=int, default=0)
    add(
        "--deterministic",
        action="store_true",
        help="run ops of TensorFlow that give the same bits each time",
    )

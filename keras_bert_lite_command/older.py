"""The arguments of demo, check and the verbs of pretraining."""

import argparse
import importlib
import json
from collections.abc import Callable
from pathlib import Path


def parser(verb: str) -> argparse.ArgumentParser:
    """Returns the parser of a verb."""
    made = argparse.ArgumentParser(
        prog=f"keras-bert-lite {verb}", description=VERBS[verb][1]
    )
    VERBS[verb][0](made)
    return made


def run(verb: str, arguments: list[str]) -> None:
    """Runs a verb."""
    options = parser(verb).parse_args(arguments)
    module, function = options.run
    getattr(importlib.import_module(f"keras_bert_lite.cli.{module}"), function)(options)


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--directory",
        type=Path,
        default=Path("saved_models/messages"),
        help="output directory of the SavedModel (default: %(default)s)",
    )
    parser.add_argument("--epochs", type=int, default=1)
    parser.set_defaults(run=("demo", "main"))


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=Path,
        help="a version directory, or the directory of a model's versions",
    )
    parser.add_argument(
        "--run",
        dest="running",
        action=argparse.BooleanOptionalAction,
        help="load and run it here, whatever its operations are, or not at all "
        "(default: unless they work on files, or no server has them)",
    )
    parser.set_defaults(run=("check", "main"))


def _add_vocabulary(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", type=Path, help="UTF-8 text files")
    parser.add_argument("--directory", required=True, type=Path, help="for the result")
    parser.add_argument(
        "--size", type=int, default=8192, help="maximum number of pieces"
    )
    parser.add_argument("--cased", action="store_true", help="keep case and accents")
    parser.set_defaults(run=("pretrain", "vocabulary"))


def _add_data(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("text", nargs="+", type=Path, help="UTF-8 text files, .gz or .xz if compressed")
    add("--directory", required=True, type=Path, help="for the result")
    add("--preprocessor", required=True, help="a name, a directory, or hf://")
    add("--sequence-length", type=int, default=128, help="tokens per row")
    add(
        "--objective",
        choices=("next_sentence", "sentence_order", "none"),
        help="objective besides masked words; long pairs are cut (default: "
        "next_sentence)",
    )
    add(
        "--sentences",
        choices=("lines", "split"),
        help="one sentence per line, or prose",
    )
    add("--short-share", type=float, help="share of rows with a random length")
    add(
        "--pack",
        action="store_true",
        default=None,
        help="pack several texts into a row",
    )
    add("--repeats", type=int, help="number of times each document is used")
    add(
        "--masking",
        type=json.loads,
        help="mask once when writing, with these options (JSON)",
    )
    add("--chunk-bytes", type=int, help="bytes of text per shard")
    add("--seed", type=int)
    parser.add_argument("--workers", type=int, help="threads (default: all cores)")
    parser.set_defaults(run=("pretrain", "pretraining_data"))


def _add_pretrain(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", type=Path, help="directory written by pretraining-data")
    _add_run_options(parser)
    add(
        "--replaced-tokens",
        action="store_true",
        help="train like ELECTRA, by replaced tokens",
    )
    add("--optimizer", choices=("adamw", "lamb"))
    add("--validation", type=Path, help="directory of held-out data")
    add("--precision", choices=("float32", "mixed_float16", "mixed_bfloat16"))
    add("--gradient-checkpointing", action="store_true")
    add("--tensorboard", type=Path, help="log directory")
    parser.set_defaults(run=("pretrain", "pretrain"))


def _add_distil(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("text", nargs="+", type=Path, help="UTF-8 text files, .gz or .xz if compressed")
    _add_run_options(parser)
    add("--teacher", required=True, help="a checkpoint: see load_encoder")
    add(
        "--preprocessor", required=True, help="a directory with the student's tokenizer"
    )
    add("--sequence-length", type=int, default=128, help="tokens per text")
    add(
        "--sentences",
        choices=("lines", "split"),
        help="one sentence per line, or prose",
    )
    add("--pairs", action="store_true", help="also train on rows of two texts")
    add(
        "--layer-pairs",
        type=json.loads,
        help='layers of student and teacher that must match too, as "[[2, 4]]"',
    )
    add(
        "--replaced",
        type=float,
        help="largest share of a sentence's words that are replaced by random words "
        "of the teacher's vocabulary",
    )
    add("--validation", nargs="+", type=Path, help="held-out text files")
    add(
        "--dtype",
        choices=("float32", "float16", "bfloat16"),
        help="data type of the saved weights",
    )
    add("--dropout", type=float, help="dropout rate in the saved configuration")
    parser.set_defaults(run=("distil", "main"))


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of all training runs."""
    add = parser.add_argument
    add(
        "--directory",
        required=True,
        type=Path,
        help="directory of the run: its states and model",
    )
    add = parser.add_mutually_exclusive_group(required=True).add_argument
    add("--config", help="a published name, or a JSON file of EncoderConfig's fields")
    add("--model", help="start from the weights of a checkpoint: a directory, hf://")
    add = parser.add_argument
    add("--steps", required=True, type=int)
    add("--batch-size", type=int)
    add("--learning-rate", type=float)
    add("--warmup", type=float, help="share of the steps for warm-up")
    add("--weight-decay", type=float)
    add("--accumulate", type=int, help="steps per update")
    add("--save-every", type=int)
    add("--seed", type=int, default=0)
    add(
        "--deterministic",
        action="store_true",
        help="use only deterministic TensorFlow operations",
    )


Add = Callable[[argparse.ArgumentParser], None]
VERBS: dict[str, tuple[Add, str]] = {
    "demo": (_add_demo, "train, evaluate, export and serve a small classifier"),
    "check": (_add_check, "check whether TF Serving can serve a SavedModel"),
    "vocabulary": (_add_vocabulary, "train a WordPiece vocabulary on text"),
    "pretraining-data": (_add_data, "convert text to pretraining data"),
    "pretrain": (_add_pretrain, "pretrain an encoder, or resume"),
    "distil": (_add_distil, "train a small encoder to match a large one's vectors"),
}

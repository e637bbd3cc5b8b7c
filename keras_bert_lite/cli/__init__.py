"""The `keras-bert-lite` command."""

import argparse
import sys
from pathlib import Path

from keras_bert_lite.cli import distil as distillation, pretrain as pretraining


def main(arguments: list[str] | None = None) -> None:
    """Runs the command."""
    options = _parser().parse_args(arguments)
    options.run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="keras-bert-lite", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo", help="train, evaluate, export and serve a small classifier"
    )
    demo.add_argument(
        "--directory",
        type=Path,
        default=Path("saved_models/messages"),
        help="where the SavedModel goes (default: %(default)s)",
    )
    demo.add_argument("--epochs", type=int, default=1)
    demo.set_defaults(run=_demo)
    check = commands.add_parser(
        "check", help="say whether TF Serving can serve a SavedModel"
    )
    check.add_argument(
        "path", type=Path, help="a version directory, or a model's directory of them"
    )
    check.add_argument(
        "--run",
        dest="running",
        action=argparse.BooleanOptionalAction,
        help="load and run it here, whatever its operations are, or not at all "
        "(default: unless they work on files, or no server has them)",
    )
    check.set_defaults(run=_check)
    pretraining.add_commands(commands)
    distillation.add_command(commands)
    return parser


def _demo(options: argparse.Namespace) -> None:
    from keras_bert_lite.cli import demo as script  # TensorFlow takes seconds to load

    script.run(options.directory, options.epochs)


def _check(options: argparse.Namespace) -> None:
    from keras_bert_lite.serving.check.servable import check_servable

    report = check_servable(options.path, options.running)
    print(report)
    sys.exit(0 if report.ok else 1)

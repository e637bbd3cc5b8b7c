"""The `keras-bert-lite` command."""

import argparse
from pathlib import Path


def main(arguments: list[str] | None = None) -> None:
    """Runs the command."""
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
    demo.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args(arguments)

    from keras_bert_lite import demo as script  # TensorFlow takes seconds to load

    script.run(options.directory, options.epochs)

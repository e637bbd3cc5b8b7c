"""Whether TF Serving can serve a SavedModel: `check`."""

import argparse
import sys

from keras_bert_lite.serving.check.servable import check_servable


def main(options: argparse.Namespace) -> None:
    """Prints the report; the exit status is 1 if it is bad."""
    report = check_servable(options.path, options.running)
    print(report)
    sys.exit(0 if report.ok else 1)

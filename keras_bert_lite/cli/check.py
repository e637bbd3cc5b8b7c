"""`check`: checks that TF Serving can serve a SavedModel."""

import argparse
import sys

from keras_bert_lite.serving.check.servable import check_servable


def main(options: argparse.Namespace) -> None:
    """Prints the report and exits with status 1 if there are problems."""
    report = check_servable(options.path, options.running)
    print(report)
    sys.exit(0 if report.ok else 1)

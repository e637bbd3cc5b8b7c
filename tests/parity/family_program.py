"""Prints how far the outputs of many checkpoints are from the reference's.

Takes a directory with a folder a checkpoint, which also holds the inputs and
what transformers made of them (`expected.npz`).
"""

import json
import sys
import warnings
from pathlib import Path

import keras
import numpy as np

import keras_bert_lite as kbl
from tests.families import checkpoints


def main(directory):
    report = {"backend": keras.backend.backend()}
    for folder in sorted(Path(directory).iterdir()):
        expected = dict(np.load(folder / "expected.npz"))
        inputs = {
            name: expected.pop(name)
            for name in ("token_ids", "segment_ids", "padding_mask")
        }
        with warnings.catch_warnings(action="error"):
            model = kbl.load_model(folder)
        found = checkpoints.outputs(model, inputs)
        missing = set(expected) - set(found)
        assert not missing, (folder.name, missing)
        report[folder.name] = max(
            float(np.abs(found[name] - value).max()) for name, value in expected.items()
        )
    print(json.dumps(report))


main(sys.argv[1])

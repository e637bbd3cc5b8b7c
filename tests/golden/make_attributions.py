"""Writes attributions.json: captum's integrated gradients of transformers' models.

The cases are those of `tests/visualization/cases.py`. Run it where captum,
transformers and torch are:

    python -m tests.golden.make_attributions
"""

import importlib.metadata
import json
from pathlib import Path

import torch
import transformers

from tests.parity import captum_reference, reference
from tests.visualization import cases

TARGET = Path(__file__).with_name("attributions.json")


def main():
    checkpoints = {name: case for name, *case in reference.cases()}
    golden = {
        "captum": importlib.metadata.version("captum"),
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "steps": cases.STEPS,
        "attributions": {
            name: attributions(reference.reference(*checkpoints[checkpoint]), *rest)
            for name, (checkpoint, *rest) in cases.CASES.items()
        },
    }
    TARGET.write_text(json.dumps(golden, indent=1) + "\n")


def attributions(model, text, target, span):
    rows = cases.rows(text, model.config.pad_token_id)
    of = captum_reference.output(model, text, target, span)
    values, _ = captum_reference.attributions(model, *rows, of, cases.STEPS)
    return [round(float(x), 6) for x in values]


if __name__ == "__main__":
    main()

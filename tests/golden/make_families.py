"""Writes families.json: what transformers makes of tiny checkpoints.

Each architecture and head, and several unusual configurations. Weights follow
from names (`tests/families/checkpoints.py`), so the file holds shapes only, and
of each output every 29th number. Run it where transformers and torch are:

    python -m tests.golden.make_families
"""

import json
from pathlib import Path

import torch
import transformers

from tests.parity import reference

TARGET = Path(__file__).with_name("families.json")
STEP = 29


def main():
    golden = {
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "step": STEP,
        "cases": {name: case(*rest) for name, *rest in reference.cases()},
    }
    TARGET.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


def case(family, suffix, configuration):
    model = reference.reference(family, suffix, configuration)
    inputs = reference.inputs_for(model, suffix)
    return {
        "configuration": {
            **configuration,
            "model_type": family,
            "architectures": [type(model).__name__],
            "pad_token_id": model.config.pad_token_id,
        },
        "num_segments": getattr(model.config, "type_vocab_size", 1),
        "tensors": {
            name: list(tensor.shape) for name, tensor in reference.stored(model).items()
        },
        "outputs": {
            name: [round(float(x), 6) for x in value.reshape(-1)[::STEP]]
            for name, value in reference.outputs(model, inputs, suffix).items()
        },
    }


if __name__ == "__main__":
    main()

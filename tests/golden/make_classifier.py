"""Writes classifier.keras and classifier.json: a file that later versions load.

Run it from the repository root only when a new layer is to be covered; the old
file must go on loading:

    python -m tests.golden.make_classifier
"""

import json
from pathlib import Path

import keras

import keras_bert_lite as kbl
from tests import tiny

TARGET = Path(__file__).with_name("classifier.keras")


def main():
    keras.utils.set_random_seed(0)
    model = kbl.with_text(tiny.classifier(embedding_dim=8), tiny.preprocessor())
    model.save(TARGET)
    answer = model.predict(tiny.TEXTS, verbose=0)
    values = {name: value.tolist() for name, value in answer.items()}
    TARGET.with_suffix(".json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""What importing the package brings, and what it does not."""

import subprocess
import sys

import pytest

from tests.paths import GOLDEN


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_nothing_but_keras_and_tensorflow():
    program = (
        "import sys, tensorflow, keras, tensorflow_text; before = set(sys.modules)\n"
        "import keras_bert_lite\n"
        "new = {x.split('.')[0] for x in set(sys.modules) - before}\n"
        "print(sorted(new - sys.stdlib_module_names))"
    )
    assert eval(run(program)) == ["keras_bert_lite"]


@pytest.mark.parametrize("order", ["keras, keras_bert_lite", "keras_bert_lite, keras"])
def test_keras_loads_a_model_after_a_plain_import(order):
    program = (
        f"import {order}\n"
        f"model = keras.models.load_model({str(GOLDEN / 'classifier.keras')!r})\n"
        "print(type(model).__name__)"
    )
    assert run(program).endswith("TextModel")


def test_public_modules_can_be_imported_from():
    program = (
        "from keras_bert_lite.layers import Encoder\n"
        "from keras_bert_lite.data import read_csv\n"
        "from keras_bert_lite.losses import CRFLoss\n"
        "import keras_bert_lite.optimizers, keras_bert_lite.tuning\n"
        "import keras_bert_lite as kbl\n"
        "print([x for x in kbl.__all__ if not hasattr(kbl, x)])"
    )
    assert run(program).endswith("[]")

"""What importing the package brings, before or after Keras, and what it does not."""

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


LOAD = f"keras.models.load_model({str(GOLDEN / 'classifier.keras')!r})"


def test_importing_loads_nothing_but_keras_and_tensorflow():
    program = (
        "import sys, tensorflow, keras, tensorflow_text; before = set(sys.modules)\n"
        "import keras_bert_lite\n"
        "new = {x.split('.')[0] for x in set(sys.modules) - before}\n"
        f"name = type({LOAD}).__name__\n"
        "print([name, *sorted(new - sys.stdlib_module_names)])"
    )
    assert eval(run(program)) == ["TextModel", "keras_bert_lite"]


@pytest.mark.slow
def test_public_modules_can_be_imported_from_before_keras():
    program = (
        "from keras_bert_lite.layers import Encoder\n"
        "from keras_bert_lite.data import read_csv\n"
        "from keras_bert_lite.losses import CRFLoss\n"
        "import keras_bert_lite.optimizers, keras_bert_lite.tuning\n"
        "import keras_bert_lite as kbl, keras\n"
        f"name = type({LOAD}).__name__\n"
        "print([name, *(x for x in kbl.__all__ if not hasattr(kbl, x))])"
    )
    assert eval(run(program).splitlines()[-1]) == ["TextModel"]

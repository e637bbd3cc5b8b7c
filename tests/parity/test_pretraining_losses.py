"""The losses of pretraining against those that transformers computes."""

import importlib

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch", reason="needs torch and transformers")
transformers = pytest.importorskip("transformers")
reference = importlib.import_module("tests.parity.reference")
transformers.logging.set_verbosity_error()
CASES = {
    (family, suffix): configuration
    for _, family, suffix, configuration in reference.cases()
    if suffix in ("ForPreTraining", "ForMaskedLM")
}
BATCH = {"prediction_logits": "labels", "seq_relationship_logits": "next"}


def loaded(family, suffix, directory):
    """The model of transformers, this package's, and inputs of both."""
    model = reference.reference(family, suffix, CASES[family, suffix])
    model.save_pretrained(directory)
    return model.eval(), kbl.load_model(directory), reference.inputs_for(model, suffix)


def theirs(model, inputs, **labels):
    tensors = {
        "input_ids": inputs["token_ids"],
        "token_type_ids": inputs["segment_ids"],
        "attention_mask": inputs["padding_mask"],
        **labels,
    }
    tensors = {k: torch.tensor(np.asarray(v)).long() for k, v in tensors.items()}
    if getattr(model.config, "type_vocab_size", 0) < 2:
        del tensors["token_type_ids"]
    with torch.no_grad():
        return float(model(**tensors).loss)


def ours(model, inputs, targets, weights):
    kbl.compile(model, keras.optimizers.SGD())
    results = model.evaluate(inputs, targets, sample_weight=weights, verbose=0)
    return results if isinstance(results, float) else results[0]


@pytest.mark.parametrize(
    ("family", "pairs"),
    [("bert", "next_sentence_label"), ("albert", "sentence_order_label")]
    + [(x, None) for x in ("roberta", "distilbert", "electra", "deberta-v2")],
)
def test_masked_words_and_pairs(family, pairs, tmp_path):
    suffix = "ForPreTraining" if pairs else "ForMaskedLM"
    model, mine, inputs = loaded(family, suffix, tmp_path)
    positions = np.array([[1, 4, 7], [2, 5, 0], [1, 0, 0]], "int32")
    weights = (positions > 0).astype("float32")
    words = np.array([[7, 9, 30], [12, 5, 0], [8, 0, 0]], "int32")
    labels = np.full(inputs["token_ids"].shape, -100)
    for row, column in zip(*np.nonzero(weights), strict=True):
        labels[row, positions[row, column]] = words[row, column]
    targets, counts = {"prediction_logits": words}, {"prediction_logits": weights}
    given = {"labels": labels}
    if pairs:
        order = np.array([0, 1, 1], "int32")
        targets["seq_relationship_logits"] = given[pairs] = order
        counts["seq_relationship_logits"] = np.ones(3, "float32")
    masked = kbl.pretraining.masked_positions_model(mine)
    got = ours(masked, {**inputs, "masked_positions": positions}, targets, counts)
    assert got == pytest.approx(theirs(model, inputs, **given), abs=2e-5)


def test_replaced_tokens(tmp_path):
    model, mine, inputs = loaded("electra", "ForPreTraining", tmp_path)
    original = np.where(np.arange(9) % 4 == 1, 3, inputs["token_ids"])
    labels = (original != inputs["token_ids"]) & inputs["padding_mask"]
    assert 0 < labels.sum() < labels.size / 2
    logits = mine(inputs)["logits"]
    output = kbl.layers.AppendTokenIds()(logits, inputs["token_ids"])
    mask = inputs["padding_mask"].astype("float32")
    got = float(kbl.losses.ReplacedTokenLoss()(original, output, mask))
    assert got == pytest.approx(theirs(model, inputs, labels=labels), abs=1e-5)

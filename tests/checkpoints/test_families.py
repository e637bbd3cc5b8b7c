"""Every architecture and head: golden values, without the reference."""

import warnings

import keras
import numpy as np
import pytest
import safetensors.numpy

import keras_bert_lite as kbl
from tests.checkpoints.family_cases import CASES, VALUES
from tests.families import checkpoints

# transformers stores this bias of an untied output layer, and never reads it.
UNREAD = {"cls.predictions.bias", "lm_head.bias", "predictions.bias"}


def load(directory, name):
    case = CASES[name]
    checkpoints.write(directory, case["configuration"], case["tensors"])
    with warnings.catch_warnings(action="error"):
        return kbl.load_model(directory)


def inputs_for(name):
    case = CASES[name]
    padding_id = case["configuration"]["pad_token_id"]
    choices = "MultipleChoice" in name
    return checkpoints.ids(padding_id, case["num_segments"], choices)


ENCODERS = [x for x in CASES if x.endswith("-Model")]


@pytest.mark.parametrize("name", ENCODERS)
def test_outputs_of_every_family(tmp_path, name):
    check_outputs_and_weights(tmp_path, name)


@pytest.mark.parametrize("name", [x for x in CASES if x not in ENCODERS])
def test_outputs_of_heads_and_variants(tmp_path, name):
    check_outputs_and_weights(tmp_path, name)


def check_outputs_and_weights(tmp_path, name):
    """The outputs are those of transformers, and the weights come back."""
    model = load(tmp_path, name)
    found = checkpoints.outputs(model, inputs_for(name))
    expected = CASES[name]["outputs"]
    assert set(expected) <= set(found)
    for key, values in expected.items():
        ours = found[key].reshape(-1)[:: VALUES["step"]]
        np.testing.assert_allclose(ours, values, atol=1.1e-5, err_msg=key)
    kbl.save_hugging_face(model, None, tmp_path / "out")
    before, after = (
        safetensors.numpy.load_file(folder / "model.safetensors")
        for folder in (tmp_path, tmp_path / "out")
    )
    assert sorted(before) == sorted(after)
    untied = CASES[name]["configuration"].get("tie_word_embeddings") is False
    for tensor in set(before) - (UNREAD if untied else set()):
        np.testing.assert_array_equal(before[tensor], after[tensor], err_msg=tensor)


def heads():
    """All heads of BERT, one of every other family, variants; the rest is slow."""
    seen = set()
    for name in (x for x in CASES if "-For" in x):
        family = name.rsplit("-", 1)[0]
        fast = family == "bert" or family not in seen
        seen.add(family)
        yield pytest.param(name, marks=[] if fast else [pytest.mark.slow])


@pytest.mark.parametrize("name", list(heads()))
def test_models_with_heads_survive_a_file(tmp_path, name):
    """Tied weights stay tied, in a `.keras` file and in a clone."""
    model = load(tmp_path, name)
    inputs = inputs_for(name)
    expected = model(inputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    assert loaded.count_params() == clone.count_params() == model.count_params()
    for other in (loaded, clone):
        for key, value in other(inputs).items():
            np.testing.assert_allclose(value, expected[key], atol=1e-6)

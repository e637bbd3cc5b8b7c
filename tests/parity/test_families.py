"""Every architecture and head against transformers, in and out."""

import importlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import keras_bert_lite as kbl
from tests.families import checkpoints
from tests.paths import ROOT

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch", reason="needs torch and transformers")
transformers = pytest.importorskip("transformers")
reference = importlib.import_module("tests.parity.reference")

PROGRAM = Path(__file__).with_name("family_program.py")
CASES = {name: case for name, *case in reference.cases()}
INPUTS = ("token_ids", "segment_ids", "padding_mask")
SHORT, LONG = 9, 300  # tokens of a row
# transformers stores this bias of an untied output layer, and never reads it.
UNREAD = {"cls.predictions.bias", "lm_head.bias", "predictions.bias"}
transformers.logging.set_verbosity_error()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Returns a directory of checkpoints, with what the reference makes of each."""
    directory = tmp_path_factory.mktemp("families")
    for name, (family, suffix, configuration) in CASES.items():
        long = family in reference.ROTARY
        scale, length = (0.5, LONG) if long else (1.0, SHORT)
        model = reference.reference(family, suffix, configuration, scale)
        model.save_pretrained(directory / name)
        inputs = reference.inputs_for(model, suffix, length)
        expected = reference.outputs(model, inputs, suffix)
        np.savez(directory / name / "expected.npz", **inputs, **expected)
    return directory


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_outputs_equal_transformers(written, backend):
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
        ),
    }
    output = subprocess.run(
        [sys.executable, str(PROGRAM), str(written)],
        check=True,
        stdout=subprocess.PIPE,
        env=environment,
    )
    report = json.loads(output.stdout.splitlines()[-1])
    assert report.pop("backend") == backend
    assert sorted(report) == sorted(CASES)
    far = {name: value for name, value in report.items() if not value < 1e-5}
    assert not far


@pytest.mark.parametrize("name", CASES)
def test_round_trip(written, tmp_path, name):
    family, suffix, configuration = CASES[name]
    untied = configuration.get("tie_word_embeddings") is False
    with warnings.catch_warnings(action="error"):
        model = kbl.load_model(written / name)
    kbl.save_hugging_face(model, None, tmp_path / "out")
    before, after = (
        safetensors.numpy.load_file(folder / "model.safetensors")
        for folder in (written / name, tmp_path / "out")
    )
    assert sorted(before) == sorted(after)
    for tensor in set(before) - (UNREAD if untied else set()):
        np.testing.assert_array_equal(before[tensor], after[tensor], err_msg=tensor)
    model_class = getattr(transformers, reference.FAMILIES[family][0] + suffix)
    again, information = model_class.from_pretrained(
        tmp_path / "out", output_loading_info=True, attn_implementation="eager"
    )
    assert not any(information.values()), information
    expected = dict(np.load(written / name / "expected.npz"))
    inputs = {key: expected.pop(key) for key in INPUTS}
    # Of equal weights, but not to the bit: torch adds up in another order where
    # they lie otherwise in memory.
    for key, value in reference.outputs(again.eval(), inputs, suffix).items():
        np.testing.assert_allclose(value, expected[key], atol=1e-5, err_msg=key)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_and_shards(tmp_path, dtype):
    model = reference.reference("bert", "ForMaskedLM", reference.SIZES)
    half = model.to(getattr(torch, dtype))
    half.save_pretrained(tmp_path, max_shard_size="4KB")
    assert (tmp_path / "model.safetensors.index.json").is_file()
    inputs = reference.inputs_for(model, "ForMaskedLM")
    expected = reference.outputs(half.float(), inputs, "ForMaskedLM")
    found = checkpoints.outputs(kbl.load_model(tmp_path), inputs)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=1e-5)
    kbl.save_hugging_face(kbl.load_model(tmp_path), None, tmp_path / "out", dtype)
    stored = safetensors.numpy.load_file(tmp_path / "out" / "model.safetensors")
    assert {value.dtype.name for value in stored.values()} == {dtype}

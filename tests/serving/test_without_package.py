"""Exports in environments that have TensorFlow and tensorflow-text alone."""

import json
import os
import subprocess

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from tests import tiny

PYTHONS = {
    "SERVING_PYTHON": None,
    "SERVING_PYTHON_220": "2.20.0",
    "SERVING_PYTHON_217": "2.17.1",
    "SERVING_PYTHON_212": "2.12.1",
}
PROGRAM = """
import functools, importlib.util, json, sys
import tensorflow as tf
import tensorflow_text
assert importlib.util.find_spec("keras_bert_lite") is None
print(json.dumps(tf.__version__))
load = functools.cache(tf.saved_model.load)
for path, name, inputs in json.load(sys.stdin):
    serve = load(path).signatures[name]
    types = {k: x.dtype for k, x in serve.structured_input_signature[1].items()}
    outputs = serve(**{k: tf.constant(x, types[k]) for k, x in inputs.items()})
    arrays = {k: x.numpy() for k, x in outputs.items()}
    values = {k: [x.shape, x.ravel().tolist()] for k, x in arrays.items()}
    print(json.dumps(values, default=bytes.decode))
"""
TEXTS = [tiny.TEXTS[i % 4] * (1 + i % 7) for i in range(64)] + ["Été, 日本 😀"]
pytestmark = [
    pytest.mark.serving,
    pytest.mark.tensorflow(reason="exports need TensorFlow"),
]


def inputs_of_signatures():
    """Every value that some signature takes, by name."""
    ids = tiny.preprocessor()(TEXTS)
    lists = {name: x.numpy().tolist() for name, x in ids.items()}
    return {"text": TEXTS, "text_pair": TEXTS[::-1], **lists}


def calls_of(path):
    """Yields calls of each signature, and what this process answers to them."""
    values = inputs_of_signatures()
    for name, serve in tf.saved_model.load(str(path)).signatures.items():
        specs = serve.structured_input_signature[1]
        if not set(specs) <= set(values):
            continue
        for rows in [0, 1, len(TEXTS)] if "text" in specs else [len(TEXTS)]:
            inputs = {key: values[key][:rows] for key in specs}
            tensors = {k: tf.constant(x, specs[k].dtype) for k, x in inputs.items()}
            yield (str(path), name, inputs), serve(**tensors)


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    return kbl.with_text(tiny.classifier(initializer_range=0.3), tiny.preprocessor())


@pytest.fixture(scope="module")
def calls(model, tmp_path_factory):
    directory = tmp_path_factory.mktemp("exports")
    pairs = kbl.with_text(tiny.classifier(), tiny.preprocessor(), pairs=True)
    encoder = kbl.with_text(tiny.encoder(), tiny.preprocessor())
    models = [model, pairs, encoder]
    paths = [kbl.export_saved_model(model, directory) for model in models]
    return [call for path in paths for call in calls_of(path)]


@pytest.fixture(scope="module")
def int8_calls(tmp_path_factory):
    keras.utils.set_random_seed(0)
    sizes = {"hidden_dim": 64, "intermediate_dim": 128, "initializer_range": 0.2}
    model = kbl.with_text(tiny.classifier(**sizes), tiny.preprocessor())
    directory = tmp_path_factory.mktemp("int8")
    options = {"int8": True, "calibration": TEXTS, "verbose": 0}
    return list(calls_of(kbl.export_saved_model(model, directory, **options)))


@pytest.fixture(scope="module")
def bfloat16_calls(tmp_path_factory):
    keras.utils.set_random_seed(0)
    model = kbl.with_text(tiny.classifier(initializer_range=0.3), tiny.preprocessor())
    directory = tmp_path_factory.mktemp("bfloat16")
    options = {"compute": "bfloat16", "storage": "bfloat16"}
    return list(calls_of(kbl.export_saved_model(model, directory, **options)))


@pytest.fixture(scope="module")
def index_calls(tmp_path_factory):
    keras.utils.set_random_seed(0)
    encoder, ranker = (
        kbl.with_text(build(tiny.encoder()), tiny.preprocessor())
        for build in (kbl.sentence_encoder, kbl.ranker)
    )
    directory = tmp_path_factory.mktemp("indexes")
    corpus = [f"{x} {y} weather" for x in "abcde" for y in ("day", "fine", "bad")]
    few = {"probes": 3, "precision": "int8", "ranker": ranker}
    paths = [
        kbl.search.index(encoder, corpus, directory / name, verbose=0, **options)
        for name, options in (("plain", {}), ("hybrid", {"hybrid": True, **few}))
    ]
    paths.append(kbl.search.load(paths[0]).add(["one more day"]))
    return [call for path in paths for call in calls_of(path)]


def answers(python, calls, directory, stderr=None, **variables):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= variables
    output = subprocess.run(
        [python, "-c", PROGRAM],
        input=json.dumps([call for call, _ in calls]).encode(),
        check=True,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=directory,
        env=environment,
    )
    return [json.loads(line) for line in output.stdout.splitlines()]


def interpreter(variable):
    python = os.environ.get(variable)
    if not python:
        pytest.skip(f"{variable} is not set; see the Makefile")
    return python


def check(got, expected, atol=1e-5):
    assert sorted(got) == sorted(expected)
    for name, (shape, values) in got.items():
        array = expected[name].numpy()
        assert shape == list(array.shape)
        if array.dtype == object:
            assert values == [x.decode() for x in array.ravel()]
        else:
            flat = array.ravel()
            np.testing.assert_allclose(values, flat, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("variable", PYTHONS)
def test_answers_are_this_processes(variable, calls, tmp_path):
    python = interpreter(variable)
    version, *got = answers(python, calls, tmp_path)
    assert version == (PYTHONS[variable] or tf.__version__)
    assert len(got) == len(calls)
    for answer, (_, expected) in zip(got, calls, strict=True):
        check(answer, expected)


@pytest.mark.parametrize("one_dnn", ["1", "0"])
@pytest.mark.parametrize("variable", [x for x in PYTHONS if x[-3:] != "212"])
def test_answers_in_int8(variable, one_dnn, int8_calls, tmp_path):
    python = interpreter(variable)
    options = {"TF_ENABLE_ONEDNN_OPTS": one_dnn}
    _, *got = answers(python, int8_calls, tmp_path, **options)
    for answer, (_, expected) in zip(got, int8_calls, strict=True):
        check(answer, expected)


@pytest.mark.parametrize("variable", PYTHONS)
def test_indexes_search(variable, index_calls, tmp_path):
    python = interpreter(variable)
    _, *got = answers(python, index_calls, tmp_path)
    names = set()
    for answer, ((_, name, _), expected) in zip(got, index_calls, strict=True):
        names.add(name)
        # Texts that are nearly alike may change places.
        numbers = {x: y for x, y in expected.items() if y.dtype == tf.float32}
        check({x: answer[x] for x in numbers}, numbers, atol=1e-4)
        assert {x: answer[x][0] for x in expected} == {
            x: list(y.shape) for x, y in expected.items()
        }
    assert names == {"search", "serving_default", "embed"}


def test_older_servers_have_no_int8(int8_calls, tmp_path):
    python = interpreter("SERVING_PYTHON_212")
    with pytest.raises(subprocess.CalledProcessError) as error:
        answers(python, int8_calls, tmp_path, stderr=subprocess.PIPE)
    assert b"_QuantizedMatMul" in error.value.stderr


@pytest.mark.filterwarnings("ignore:`compute='bfloat16'` is for")
@pytest.mark.parametrize("one_dnn", ["1", "0"])
@pytest.mark.parametrize("variable", PYTHONS)
def test_answers_in_bfloat16(variable, one_dnn, bfloat16_calls, tmp_path):
    """Kernels sum in another order and round to 8 bits: answers differ by some."""
    python = interpreter(variable)
    options = {"TF_ENABLE_ONEDNN_OPTS": one_dnn}
    _, *got = answers(python, bfloat16_calls, tmp_path, **options)
    assert len(got) == len(bfloat16_calls)
    for answer, (_, expected) in zip(got, bfloat16_calls, strict=True):
        scores = {k: x for k, x in expected.items() if x.dtype != tf.string}
        check({k: answer[k] for k in scores}, scores, atol=0.02)


def test_this_process_answers_as_the_keras_model(model, calls):
    path = calls[0][0][0]
    expected = model.predict(TEXTS, batch_size=len(TEXTS), verbose=0)
    assert np.ptp(expected["scores"], axis=0).max() > 0.01
    names = set()
    for (where, name, inputs), outputs in calls:
        rows = len(next(iter(inputs.values())))
        if where == path and rows == len(TEXTS) and "label" in outputs:
            names.add(name)
            labels = [x.decode() for x in outputs["label"].numpy()]
            assert labels == expected["label"].tolist()
            np.testing.assert_allclose(outputs["scores"], expected["scores"], atol=1e-5)
    assert names >= {"serving_default", "token_ids"}

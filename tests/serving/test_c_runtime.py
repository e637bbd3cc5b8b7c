"""Exports in TensorFlow's C++ runtime, the one that TF Serving is built on."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import keras_bert_lite as kbl
from tests import tiny

SOURCE = Path(__file__).with_name("run_saved_model.c")
OPERATIONS = ("_fast_bert_normalizer.so", "_fast_wordpiece_tokenizer.so")
pytestmark = [
    pytest.mark.serving,
    pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc"),
    pytest.mark.tensorflow(reason="exports need TensorFlow"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "run_saved_model"
    library = tf.sysconfig.get_lib()
    command = ["gcc", "-D_GNU_SOURCE", "-O1", "-Wall", "-Werror", str(SOURCE)]
    command += ["-o", str(path), f"-I{tf.sysconfig.get_include()}", f"-L{library}"]
    command += ["-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"]
    subprocess.run([*command, f"-Wl,-rpath,{library}"], check=True)
    return path


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    return kbl.with_text(tiny.classifier(initializer_range=0.3), tiny.preprocessor())


@pytest.fixture(scope="module")
def export(model, tmp_path_factory):
    return kbl.export_saved_model(model, tmp_path_factory.mktemp("export"))


def signature_of(export):
    content = (export / "saved_model.pb").read_bytes()
    graph = saved_model_pb2.SavedModel.FromString(content).meta_graphs[0]
    return graph.signature_def["serving_default"]


def run(program, export, output, texts, libraries=OPERATIONS):
    signature = signature_of(export)
    folder = Path(importlib.util.find_spec("tensorflow_text").origin).parent
    names = [signature.inputs["text"].name, signature.outputs[output].name]
    paths = [str(folder / "python" / "ops" / library) for library in libraries]
    return subprocess.run(
        [str(program), str(export), *names, *paths],
        input="".join(f"{text}\n" for text in texts).encode(),
        capture_output=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        check=False,
    )


def lines(process):
    assert process.returncode == 0, process.stderr.decode()
    return process.stdout.decode().splitlines()


def test_numbers_equal_the_keras_models(program, model, export):
    texts = [tiny.TEXTS[i % 4] * (1 + i % 7) for i in range(64)] + ["日本 😀 é"]
    expected = model.predict(texts, batch_size=65, verbose=0)
    assert np.ptp(expected["scores"], axis=0).max() > 0.01
    scores = [x.split() for x in lines(run(program, export, "scores", texts))]
    np.testing.assert_allclose(np.float64(scores), expected["scores"], atol=1e-5)
    labels = lines(run(program, export, "label", texts))
    assert labels == expected["label"].tolist()


def test_empty_batch(program, export):
    assert lines(run(program, export, "scores", [])) == []


def test_both_libraries_are_needed(program, export):
    process = run(program, export, "scores", ["a day"], OPERATIONS[:1])
    assert process.returncode == 1
    assert b"FastWordpieceTokenizeWithOffsets" in process.stderr


def test_no_python_in_the_program(program):
    output = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE)
    libraries = output.stdout.decode()
    assert "libtensorflow_cc.so.2 => /" in libraries
    assert "libpython" not in libraries
    assert "not found" not in libraries

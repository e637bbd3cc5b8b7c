"""Exports in an environment that has TensorFlow and tensorflow-text alone."""

import json
import os
import subprocess

import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny

PYTHON = os.environ.get("SERVING_PYTHON")
PROGRAM = """
import importlib.util, json, sys
import tensorflow as tf
import tensorflow_text
assert importlib.util.find_spec("keras_bert_lite") is None
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
for batch in json.loads(sys.argv[2]):
    answer = serve(text=tf.constant(batch, tf.string))
    scores = answer["scores"].numpy().tolist()
    print(json.dumps([[x.decode() for x in answer["label"].numpy()], scores]))
"""


@pytest.mark.serving
@pytest.mark.skipif(not PYTHON, reason="SERVING_PYTHON is not set; see the Makefile")
def test_answers_equal_the_keras_models(tmp_path):
    model = kbl.with_text(tiny.classifier(), tiny.preprocessor())
    path = kbl.export_saved_model(model, tmp_path)
    texts = [tiny.TEXTS[i % 4] * (1 + i % 7) for i in range(64)]
    batches = [[], texts[:1], texts]
    command = [PYTHON, "-c", PROGRAM, str(path), json.dumps(batches)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    output = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, cwd=tmp_path, env=environment
    )
    answers = [json.loads(line) for line in output.stdout.splitlines()]
    assert answers[0] == [[], []]
    for batch, (labels, scores) in zip(batches[1:], answers[1:], strict=True):
        expected = model.predict(batch, verbose=0)
        assert labels == expected["label"].tolist()
        np.testing.assert_allclose(scores, expected["scores"], atol=1e-5)

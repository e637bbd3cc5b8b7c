"""The SavedModel of every task answers as the Keras model does."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.serving.check.server_operations import versions
from keras_bert_lite.serving.runtimes.file_metadata import file_metadata
from keras_bert_lite.serving.saved_model.exported_signatures import takes_windows
from keras_bert_lite.tasks.text_model import model_on_ids
from tests.tasks.string_models import PAIRS, TASKS, model_of, predicted

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")
SLOW = ("multi_label", "crf", "choices", "compared", "candidates", "masks")


def of(*tasks):
    return [pytest.param(task, marks=pytest.mark.slow) for task in tasks]


SERVED = ["words", "questions", *of(*SLOW)]


@pytest.fixture(scope="module")
def path_of(tmp_path_factory):
    """Exports a task, once for all tests."""

    @functools.cache
    def export(task):
        directory = tmp_path_factory.mktemp("tasks") / task
        return kbl.export_saved_model(model_of(task), directory, warmup=False)

    return export


@pytest.fixture(scope="module")
def load(path_of):
    return functools.cache(lambda task: tf.saved_model.load(str(path_of(task))))


def tensors(task, count):
    inputs = TASKS[task][0]
    named = inputs if isinstance(inputs, dict) else {"text": inputs}
    if task == "words":
        return {"text": tf.ragged.constant(named["text"]).to_tensor("")[:count]}
    return {name: tf.constant(x, tf.string)[:count] for name, x in named.items()}


@pytest.mark.parametrize("task", SERVED)
def test_strings_in(task, load):
    found = load(task).signatures["serving_default"](**tensors(task, 5))
    expected = predicted(task)
    assert set(found) == set(expected)
    for name, want in expected.items():
        got = found[name].numpy()
        if want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, atol=1e-4, err_msg=name)
        elif want.dtype.kind == "U":
            assert np.char.decode(got.astype(bytes)).tolist() == want.tolist(), name
        else:
            assert got.tolist() == want.tolist(), name


@pytest.mark.parametrize("task", SERVED)
def test_servable_with_every_version(task, path_of):
    report = kbl.check_servable(path_of(task))
    assert report.problems == ()
    assert report.ok
    assert report.versions == versions()


@pytest.mark.parametrize("task", SERVED)
def test_signatures(task, load):
    expected = {"serving_default", "token_ids"}
    if not takes_windows(model_of(task)):
        expected.add("tokenize")
    assert set(load(task).signatures) == expected
    inputs = load(task).signatures["serving_default"].structured_input_signature[1]
    ranks = {name: spec.shape.rank for name, spec in inputs.items()}
    assert ranks == {name: len(x.shape) for name, x in model_of(task).input.items()}


@pytest.mark.parametrize("task", ["questions", *of("choices", "compared", "masks")])
def test_ids_give_the_values_of_the_model_on_ids(task, load):
    body = model_on_ids(model_of(task))
    shape = (2, 3, 5) if task in ("choices", "compared") else (2, 5)
    ids = {
        "token_ids": tf.fill(shape, 7),
        "segment_ids": tf.zeros(shape, tf.int32),
        "padding_mask": tf.fill(shape, True),
    }
    found = load(task).signatures["token_ids"](**ids)
    for name, value in body(ids).items():
        np.testing.assert_allclose(found[name], value, atol=1e-4)


@pytest.mark.parametrize("task", SERVED)
def test_no_rows(task, load):
    found = load(task).signatures["serving_default"](**tensors(task, 0))
    assert all(value.shape[0] == 0 for value in found.values())


def test_offline_answers_of_pairs(path_of):
    pairs = list(zip(*PAIRS.values(), strict=True))
    answers = kbl.predict_texts(path_of("questions"), pairs, 2, progress=False)
    found = [row["answer"] for row in answers]
    assert found == predicted("questions")["answer"].tolist()


@pytest.mark.parametrize("task", ["crf", "words", "questions", "choices", "masks"])
def test_files_of_other_engines_refuse_answers_that_need_texts(task):
    with pytest.raises(ValueError, match="`export_saved_model` takes any"):
        file_metadata(model_of(task))


@pytest.mark.serving
@pytest.mark.parametrize("task", ["questions", "choices", "words"])
def test_a_client_takes_the_inputs(task, path_of):
    prediction_server = pytest.importorskip("tests.serving.prediction_server")
    from keras_bert_lite.serving.client import Client

    inputs = {name: x.numpy().astype(str) for name, x in tensors(task, 5).items()}
    with (
        prediction_server.running(path_of(task).parent) as (_, target),
        Client(target, task) as client,
    ):
        found = client.predict(inputs)
    for name, want in predicted(task).items():
        if want.dtype.kind == "f":
            np.testing.assert_allclose(found[name], want, atol=1e-4)
        else:
            assert found[name].tolist() == want.tolist()

"""Weights stored in half the space."""

import gc

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.serving.saved_model.stored_weights import half_stored
from tests import tiny

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")
ERRORS = {"float16": 5e-3, "bfloat16": 5e-2}


def save(model, path, dtype):
    module = tf.Module()
    variables = [variable.value for variable in model.variables]
    module.weights = half_stored(variables, dtype) if dtype else variables
    answer = tf.function(lambda text: model({"text": text}, training=False))
    text = tf.TensorSpec([None], tf.string, "text")
    tf.saved_model.save(
        module, str(path), signatures=answer.get_concrete_function(text)
    )
    return path


def stored_bytes(path):
    return (path / "variables" / "variables.data-00000-of-00001").stat().st_size


def predict(loaded):
    return loaded.signatures["serving_default"](text=tf.constant(tiny.TEXTS))


def classifier(seed=0):
    keras.utils.set_random_seed(seed)
    sizes = {"hidden_dim": 64, "intermediate_dim": 256, "initializer_range": 0.1}
    body = tiny.classifier(num_layers=1, **sizes)
    return kbl.with_text(body, tiny.preprocessor())


@pytest.fixture(scope="module")
def model():
    return classifier()


@pytest.fixture(scope="module", params=["float16", "bfloat16"])
def saved(request, model, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "1"
    return request.param, save(model, path, request.param)


def test_half_the_size(model, saved, tmp_path):
    _, path = saved
    whole = stored_bytes(save(model, tmp_path / "1", None))
    assert stored_bytes(path) < 0.56 * whole


def test_python_loader(model, saved):
    dtype, path = saved
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    scores = predict(tf.saved_model.load(str(path)))["scores"]
    np.testing.assert_allclose(scores, expected, atol=ERRORS[dtype])
    assert np.abs(scores - expected).max() > 0


def test_the_servers_loader(saved):
    _, path = saved
    expected = predict(tf.saved_model.load(str(path)))["scores"]
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], str(path))
        signature = meta.signature_def["serving_default"]
        for _ in range(2):
            scores = session.run(
                signature.outputs["scores"].name,
                {signature.inputs["text"].name: tiny.TEXTS},
            )
            np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_models_do_not_share_weights(model, tmp_path):
    paths = [save(classifier(seed), tmp_path / str(seed), "float16") for seed in (1, 2)]
    first, second = (tf.saved_model.load(str(path)) for path in paths)
    expected = predict(first)["scores"].numpy()
    assert np.abs(predict(second)["scores"] - expected).max() > 1e-3
    del second
    gc.collect()
    again = tf.saved_model.load(str(paths[0]))
    np.testing.assert_array_equal(predict(first)["scores"], expected)
    del first
    gc.collect()
    np.testing.assert_array_equal(predict(again)["scores"], expected)


def test_the_model_itself_stays_whole(model):
    before = model.predict(tiny.TEXTS, verbose=0)["scores"]
    half_stored([variable.value for variable in model.variables], "bfloat16")
    gc.collect()
    after = model.predict(tiny.TEXTS, verbose=0)["scores"]
    np.testing.assert_array_equal(after, before)


def test_vectors_and_whole_numbers_stay():
    variables = [tf.Variable([0.1, 0.2]), tf.Variable([[1, 2]])]
    kept = half_stored(variables, "float16")
    assert all(a is b for a, b in zip(kept, variables, strict=True))


def test_a_weight_out_of_range_is_refused():
    weight = tf.Variable([[1e5]], name="kernel")
    with pytest.raises(ValueError, match="up to 65504"):
        half_stored([weight], "float16")
    assert half_stored([weight], "bfloat16")[1].dtype == tf.bfloat16


def test_another_type_is_refused():
    with pytest.raises(ValueError, match="`dtype` must be one of"):
        half_stored([], "int8")

"""The string-in form: Python strings in, answers out, everywhere the same."""

import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from tests import fresh_process, tiny
from tests.policies import dtype_policy
from tests.threads import check_in_threads

pytestmark = pytest.mark.tensorflow(reason="string-in models need TensorFlow")


@pytest.fixture(scope="module")
def model():
    return kbl.with_text(tiny.classifier(), tiny.preprocessor())


@pytest.fixture(scope="module")
def embedder():
    return kbl.with_text(kbl.encoder(tiny.config()), tiny.preprocessor())


def test_predict_takes_lists_arrays_tensors_and_datasets(model):
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    for texts in (
        np.array(tiny.TEXTS),
        np.array(tiny.TEXTS, dtype=object),
        tf.constant(tiny.TEXTS),
        {"text": tiny.TEXTS},
        tf.data.Dataset.from_tensor_slices(tiny.TEXTS).batch(4),
    ):
        received = model.predict(texts, verbose=0)["scores"]
        np.testing.assert_allclose(received, expected, atol=1e-6)


def test_pairs_are_tuples_or_two_lists():
    model = kbl.with_text(tiny.classifier(), tiny.preprocessor(), pairs=True)
    expected = model.predict((["a", "day"], ["fine", "bad"]), verbose=0)["scores"]
    found = model.predict([("a", "fine"), ("day", "bad")], verbose=0)["scores"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_answers_are_labels_and_scores(model):
    answer = model.predict(tiny.TEXTS, verbose=0)
    assert sorted(answer) == ["label", "scores"]
    best = answer["scores"].argmax(-1)
    assert answer["label"].tolist() == [["bad", "fine"][i] for i in best]
    np.testing.assert_allclose(answer["scores"].sum(-1), 1, atol=1e-6)


def test_call_equals_predict(model):
    called = model(tiny.TEXTS)
    predicted = model.predict(tiny.TEXTS, verbose=0)
    np.testing.assert_allclose(called["scores"], predicted["scores"], atol=1e-6)


def test_equals_the_model_on_ids(model):
    body = next(x for x in model.layers if isinstance(x, keras.Model))
    logits = body(tiny.preprocessor()(tiny.TEXTS))["logits"]
    scores = model(tiny.TEXTS)["scores"]
    np.testing.assert_allclose(keras.ops.softmax(logits), scores, atol=1e-6)


def test_a_row_does_not_depend_on_its_batch(model):
    together = model.predict(tiny.TEXTS, verbose=0)["scores"]
    alone = [model.predict([text], verbose=0)["scores"][0] for text in tiny.TEXTS]
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_many_threads():
    body = tiny.classifier(initializer_range=0.3)
    model = kbl.with_text(body, tiny.preprocessor())
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    assert np.ptp(expected[:, 0]) > 0.005
    check_in_threads(
        lambda x: model.predict(x, verbose=0)["scores"], tiny.TEXTS, expected
    )


def test_empty_batch(model):
    answer = model([])
    assert answer["label"].shape == (0,)
    assert answer["scores"].shape == (0, 2)


def test_batches_of_different_length_are_padded_with_zeros(embedder):
    texts = ["a"] * 3 + ["the day the weather"]
    outputs = embedder.predict(texts, batch_size=2, verbose=0)
    assert outputs["sequence_output"].shape == (4, 6, 16)
    assert not outputs["sequence_output"][0, 3:].any()
    assert outputs["pooled_output"].shape == (4, 16)


def test_pairs():
    model = kbl.with_text(tiny.classifier(), tiny.preprocessor(), pairs=True)
    pairs = {"text": ["a day", "the day"], "text_pair": ["fine", "bad"]}
    expected = model.predict(pairs, verbose=0)["scores"]
    called = model((pairs["text"], pairs["text_pair"]))["scores"]
    np.testing.assert_allclose(called, expected, atol=1e-6)


def test_clone(model):
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    received = clone.predict(tiny.TEXTS, verbose=0)["scores"]
    np.testing.assert_allclose(received, expected, atol=1e-6)


def test_keras_file_in_a_fresh_process(model, tmp_path):
    model.save(tmp_path / "model.keras")
    path = tmp_path / "model.keras"
    found = fresh_process.predict_saved(path, tiny.TEXTS, eagerly=False)
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    np.testing.assert_allclose(found["scores"], expected, atol=1e-6)


def test_strings_only(model):
    with pytest.raises(TypeError, match=r"`text` must be strings\. Received: 3"):
        model.predict(["a", 3], verbose=0)


def test_preprocessor_must_fit_the_position_table():
    with pytest.raises(ValueError, match=r"Received: max_sequence_length=24.*=25"):
        kbl.with_text(tiny.classifier(), tiny.preprocessor(25))
    with pytest.raises(ValueError, match="sequence_length=None"):
        kbl.with_text(tiny.classifier(), tiny.preprocessor(None))


def test_tokenizer_must_fit_the_embeddings():
    small = tiny.classifier(vocabulary_size=10)
    with pytest.raises(ValueError, match="Received: 10 and"):
        kbl.with_text(small, tiny.preprocessor())


def test_model_must_have_an_encoder():
    inputs = keras.Input((3,))
    plain = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    with pytest.raises(ValueError, match="must be an encoder or a model built on one"):
        kbl.with_text(plain, tiny.preprocessor())


def test_predict_of_no_strings(model):
    answer = model.predict([], verbose=0)
    assert answer["label"].shape == (0,)
    assert answer["scores"].shape == (0, 2)


@pytest.mark.parametrize(
    "inputs", [(["a"], ["b"]), {"text": ["a"], "text_pair": ["b"]}, {"texts": ["a"]}]
)
def test_only_the_inputs_that_the_model_takes(model, inputs):
    with pytest.raises(ValueError, match=r"Received: \['text"):
        model.predict(inputs, verbose=0)


def test_a_single_string_is_no_batch(model):
    with pytest.raises(ValueError, match=r"`text` must be a batch of strings"):
        model.predict("a", verbose=0)


def test_mixed_precision_outputs_of_different_length():
    with dtype_policy("mixed_bfloat16"):
        model = kbl.with_text(kbl.encoder(tiny.config()), tiny.preprocessor())
        outputs = model.predict(["a", "the day"], batch_size=1, verbose=0)
    assert outputs["sequence_output"].shape == (2, 4, 16)
    assert outputs["sequence_output"].dtype == np.float32


def test_outputs_need_names():
    encoder = kbl.encoder(tiny.config())
    pooled = encoder.output["pooled_output"]
    nameless = keras.Model(encoder.input, keras.layers.Dense(2)(pooled))
    with pytest.raises(ValueError, match="must return a dictionary of outputs"):
        kbl.with_text(nameless, tiny.preprocessor())
    with pytest.raises(TypeError, match="`preprocessor` must be a `Preprocessor`"):
        kbl.with_text(encoder, tiny.tokenizer())


def test_strings_are_not_compiled_by_xla(model):
    with pytest.raises(ValueError, match=r"compile the model on ids\. Received"):
        model.compile(jit_compile=True)
    model.compile(jit_compile=False)


def test_points_to_what_trains_and_scores(model):
    with pytest.raises(NotImplementedError, match="Train the model on ids"):
        model.fit(["a"], [0])
    with pytest.raises(NotImplementedError, match=r"keras_bert_lite\.evaluate"):
        model.evaluate(["a"], [0])


def test_the_optimizer_is_not_saved(tmp_path):
    body = tiny.classifier()
    text_model = kbl.with_text(body, tiny.preprocessor())
    text_model.save(tmp_path / "plain.keras")
    kbl.compile(body, kbl.optimizers.bert_adamw(steps=None))
    trained = kbl.with_text(body, tiny.preprocessor())
    for name, model in (("compiled", text_model), ("trained", trained)):
        model.save(tmp_path / f"{name}.keras")
        plain, other = (
            zipfile.ZipFile(tmp_path / f"{x}.keras") for x in ("plain", name)
        )
        for file in ("model.weights.h5", "config.json"):
            same = len(plain.read(file)) == len(other.read(file))
            assert same or file == "config.json"
        assert b"AdamW" not in other.read("config.json")
    weights = [x.path for x in body.weights]
    assert [x.path for x in trained.weights] == weights


def test_half_of_a_surrogate_pair_is_named(model):
    with pytest.raises(ValueError, match=r"half of a surrogate pair in 'a .ud800'"):
        model.predict(["a day", "a \ud800"], verbose=0)

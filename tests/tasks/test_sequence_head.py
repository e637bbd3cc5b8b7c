"""What heads read: one of several poolings, and the windows of long texts."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

import keras_bert_lite as kbl
from keras_bert_lite.tasks.sentence_embedding import sentence_encoder_trainer
from tests import tiny
from tests.conformance import EAGERLY, assert_all_close, randomize, to_numpy
from tests.models.samples import ids, padded

INPUTS = ids(lengths=(5, 3, 4, 2), width=5)
TEXTS = ["the day is fine " * 9, "", "not bad", "a b c d e f g h i j k l m"]
POOLINGS = ["cls", "mean", "max", "attention"]
BUILDERS = {
    "classifier": lambda x, **o: kbl.text_classifier(x, ["a", "b"], **o),
    "multi_label": lambda x, **o: kbl.multi_label_classifier(x, ["a", "b"], **o),
    "regressor": lambda x, **o: kbl.regressor(x, 2, **o),
}


def windowed(inputs, rows=2):
    """Makes each `rows` rows the windows of one text, and adds one of padding."""
    grouped = {k: x.reshape(-1, rows, x.shape[-1]) for k, x in inputs.items()}
    return {k: np.pad(x, ((0, 0), (0, 1), (0, 0))) for k, x in grouped.items()}


def tokens_of(encoder, inputs):
    states = to_numpy(encoder(inputs)["sequence_output"])
    return [x[m] for x, m in zip(states, inputs["padding_mask"], strict=True)]


def random(model):
    randomize(model)
    return model


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
@pytest.mark.parametrize("builder", BUILDERS)
def test_heads_read_pooled_tokens(pooling, builder):
    encoder = tiny.encoder(pooling=None)
    model = random(BUILDERS[builder](encoder, pooling=pooling))
    reduce = {"cls": lambda x: x[0], "mean": lambda x: x.mean(0)}
    reduce["max"] = lambda x: x.max(0)
    vectors = np.stack([reduce[pooling](x) for x in tokens_of(encoder, INPUTS)])
    expected = model.get_layer("head")(vectors.astype("float32"))
    assert_all_close(model(INPUTS)["logits"], expected)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_padding_changes_nothing(pooling):
    model = random(BUILDERS["classifier"](tiny.encoder(), pooling=pooling))
    more = padded(INPUTS, 3)
    assert_all_close(model(more)["logits"], model(INPUTS)["logits"], 1e-4)


@pytest.mark.parametrize("windows", ["mean", "max"])
@pytest.mark.parametrize("pooling", [None, "mean", "attention"])
@pytest.mark.parametrize("builder", BUILDERS)
def test_heads_read_the_vectors_of_windows(windows, pooling, builder):
    encoder = tiny.encoder()
    options = {"pooling": pooling, "windows": windows}
    model = random(BUILDERS[builder](encoder, **options))
    vectors = row_vectors(model, encoder, pooling).reshape(2, 2, -1)
    joined = vectors.mean(1) if windows == "mean" else vectors.max(1)
    expected = model.get_layer("head")(joined)
    assert_all_close(model(windowed(INPUTS))["logits"], expected, 1e-4)


def row_vectors(model, encoder, pooling):
    """The vector of each row of `INPUTS`, as the model pools it."""
    outputs = encoder(INPUTS)
    if pooling is None:
        return to_numpy(outputs["pooled_output"])
    pooler = model.get_layer("pooling")
    tokens = outputs["sequence_output"]
    return to_numpy(pooler(tokens, padding_mask=INPUTS["padding_mask"]))


@pytest.mark.parametrize("windows", ["mean", "max"])
def test_windows_of_padding_change_nothing(windows):
    model = random(BUILDERS["classifier"](tiny.encoder(), windows=windows))
    inputs = windowed(INPUTS)
    more = {k: np.pad(x, ((0, 0), (0, 2), (0, 1))) for k, x in inputs.items()}
    assert_all_close(model(more)["logits"], model(inputs)["logits"], 1e-4)


def test_trains():
    encoder = tiny.encoder(pooling=None)
    model = BUILDERS["classifier"](encoder, pooling="attention", windows="max")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, run_eagerly=EAGERLY)
    before = model.get_weights()
    model.train_on_batch(windowed(INPUTS), np.array([0, 1]))
    stayed = {
        weight.path
        for weight, value in zip(model.weights, before, strict=True)
        if np.array_equal(to_numpy(weight), value)
    }
    # Added to every score of a row, it leaves their softmax as it is.
    assert stayed <= {"pooling/dense/bias"}


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize(
    ("option", "value"), [("pooling", "first"), ("windows", "cls"), ("windows", True)]
)
def test_refuses_other_names(builder, option, value):
    with pytest.raises(ValueError, match=f"`{option}` must be one of .*Received: "):
        BUILDERS[builder](tiny.encoder(), **{option: value})


def test_choices_are_pooled_too():
    encoder = tiny.encoder(pooling=None)
    model = random(kbl.multiple_choice(encoder, pooling="mean"))
    inputs = {k: x.reshape(2, 2, -1) for k, x in INPUTS.items()}
    vectors = np.stack([x.mean(0) for x in tokens_of(encoder, INPUTS)])
    expected = to_numpy(model.get_layer("head")(vectors)).reshape(2, 2)
    assert_all_close(model(inputs)["logits"], expected)


def test_groups_are_the_vectors_of_the_encoder():
    encoder = kbl.sentence_encoder(tiny.encoder())
    groups = sentence_encoder_trainer(encoder)
    inputs = {k: x.reshape(2, 2, -1) for k, x in INPUTS.items()}
    found = to_numpy(groups(inputs)["sentence_embedding"])
    expected = to_numpy(encoder(INPUTS)["sentence_embedding"])
    assert_all_close(found, expected.reshape(2, 2, -1))
    assert {id(x) for x in groups.weights} == {id(x) for x in encoder.weights}


def test_groups_need_a_sentence_encoder():
    with pytest.raises(ValueError, match="must be made by `sentence_encoder`"):
        sentence_encoder_trainer(tiny.encoder())


@pytest.mark.tensorflow(reason="string-in models need TensorFlow")
class TestStrings:
    @pytest.fixture
    def model(self):
        return random(BUILDERS["classifier"](tiny.encoder(), windows="mean"))

    def test_every_window_counts(self, model):
        preprocessor = tiny.preprocessor(8, stride=2)
        strings = kbl.with_text(model, preprocessor)
        strings.run_eagerly = True
        found = strings.predict(TEXTS, batch_size=2, verbose=0)["scores"]
        for row, text in zip(found, TEXTS, strict=True):
            logits = model(preprocessor([text]))["logits"]
            np.testing.assert_allclose(row, keras.ops.softmax(logits)[0], atol=1e-5)
        begin = tiny.preprocessor(8, stride=0)
        cut = model(begin([TEXTS[0][:24]]))["logits"]
        assert not np.allclose(keras.ops.softmax(cut)[0], found[0], atol=1e-4)

    def test_windows_need_a_stride(self, model):
        with pytest.raises(ValueError, match="a `stride` for a model with `windows`"):
            kbl.with_text(model, tiny.preprocessor(8))

    @pytest.mark.parametrize(
        "model",
        [
            BUILDERS["classifier"](tiny.encoder(), pooling="mean"),
            BUILDERS["regressor"](tiny.encoder(), windows="max"),
            kbl.token_classifier(tiny.encoder(), ["O", "B-X"], crf=True),
        ],
        ids=["pooling", "windows", "crf"],
    )
    def test_hugging_face_has_no_such_heads(self, model, tmp_path):
        with pytest.raises(ValueError, match="`model`"):
            kbl.save_hugging_face(model, tiny.preprocessor(8), tmp_path / "m")
        assert not (tmp_path / "m").exists()


def compared(**options):
    """A regressor of two texts that are encoded apart."""
    encoder = tiny.encoder(dropout=0.0, attention_dropout=0.0, pooling=None)
    return kbl.regressor(
        encoder, pooling="mean", head_form={}, compare=True, dropout=0.0, **options
    )


def test_compares_the_vectors_of_two_texts():
    model = compared()
    randomize(model)
    preprocessor = tiny.preprocessor()
    texts = [["a fine day", "bad weather"], ["is", "not"]]
    ids = {k: ops.convert_to_numpy(x) for k, x in preprocessor(texts).items()}
    unit = kbl.sentence_encoder(kbl.encoder_of(model), pooling="mean")
    u, v = (
        to_numpy(unit({k: x[:, i] for k, x in ids.items()})["sentence_embedding"])
        for i in range(2)
    )
    kernel, bias = model.get_layer("head").dense.get_weights()
    expected = np.concatenate([u, v, np.abs(u - v), u * v], -1) @ kernel + bias
    np.testing.assert_allclose(to_numpy(model(ids)["logits"]), expected, atol=1e-5)


@pytest.mark.tensorflow(reason="strings need TensorFlow")
def test_compares_strings(tmp_path):
    model = compared()
    preprocessor = tiny.preprocessor()
    text_model = kbl.with_text(model, preprocessor, pairs=True)
    pair = (["a fine day", "is"], ["bad weather", "not"])
    found = text_model.predict(pair, verbose=0)["score"]
    stacked = [list(x) for x in zip(*pair, strict=True)]
    expected = to_numpy(model(preprocessor(stacked))["logits"])[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    text_model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again.predict(pair, verbose=0)["score"], found)
    served = tf.saved_model.load(
        str(kbl.export_saved_model(text_model, tmp_path, warmup=False))
    )
    texts = {"text": tf.constant(pair[0]), "text_pair": tf.constant(pair[1])}
    ids = served.signatures["tokenize"](**texts)
    assert ids["token_ids"].shape[:2] == (2, 2)
    for answer in (
        served.signatures["serving_default"](**texts),
        served.signatures["token_ids"](**ids),
    ):
        np.testing.assert_allclose(answer["score"], found, atol=1e-5)


def test_compares_without_windows():
    with pytest.raises(ValueError, match="`compare` needs one row per text"):
        compared(windows="mean")


def test_transformers_has_no_such_form(tmp_path):
    with pytest.raises(ValueError, match="Received: "):
        kbl.save_hugging_face(compared(), tiny.preprocessor(), tmp_path)

"""Exports whose encoder multiplies in int8."""

import concurrent.futures
import gzip
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of
from keras_bert_lite.serving.saved_model.int8 import calibration
from tests import tiny

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")
WORDS = ["day", "fine", "bad", "weather", "not", "is", "the", "finer"]
CALIBRATION = [f"{a} {b}" for a in WORDS for b in WORDS]


def classifier(**changes):
    keras.utils.set_random_seed(0)
    sizes = {"num_layers": 1, "hidden_dim": 64, "intermediate_dim": 128}
    sizes["initializer_range"] = 0.2
    return tiny.classifier(**{**sizes, **changes})


def exported(body, folder, **options):
    model = kbl.with_text(body, tiny.preprocessor())
    options = {"calibration": CALIBRATION, "warmup": False, "verbose": 0, **options}
    options = {"int8": True, **options}
    path = kbl.export_saved_model(model, folder, **options)
    return model, path


def answers(path, signature="serving_default", **inputs):
    function = tf.saved_model.load(str(path)).signatures[signature]
    inputs = inputs or {"text": tiny.TEXTS}
    return function(**{name: tf.constant(x) for name, x in inputs.items()})


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("int8")
    return exported(classifier(num_layers=2), folder, warmup=["a fine day"])


def test_answers_are_near(example):
    model, path = example
    expected = model.predict(tiny.TEXTS, verbose=0)
    found = answers(path)
    np.testing.assert_allclose(found["scores"], expected["scores"], atol=0.02)
    assert not np.array_equal(found["scores"], expected["scores"])


def test_rows_are_computed_in_parts(example):
    _, path = example
    assert "MapDefun" in operations(path)


def test_other_signatures(example):
    _, path = example
    loaded = tf.saved_model.load(str(path)).signatures
    ids = loaded["tokenize"](text=tf.constant(tiny.TEXTS))
    found = loaded["token_ids"](**ids)["scores"]
    np.testing.assert_allclose(found, answers(path)["scores"], atol=1e-6)


def test_the_model_stays_as_it_was(example, tmp_path):
    model, _ = example
    again = kbl.export_saved_model(model, tmp_path, warmup=False)
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    np.testing.assert_allclose(answers(again)["scores"], expected, atol=1e-6)
    assert "_QuantizedMatMul" not in operations(again)


def test_exports_at_once(tmp_path):
    """Each is what it is alone: an export changes nothing that another one sees."""
    bodies = [classifier(), classifier(num_heads=4), classifier(activation="relu")]
    options = [{}, {"int8": False, "calibration": None}, {}]

    def export(i, folder):
        return exported(bodies[i], tmp_path / folder / str(i), **options[i])[1]

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        paths = list(pool.map(export, range(3), ["together"] * 3))
    for i, path in enumerate(paths):
        alone = export(i, "alone")
        np.testing.assert_array_equal(answers(path)["scores"], answers(alone)["scores"])
        assert operations(path) == operations(alone)
    assert [("_QuantizedMatMul" in operations(x)) for x in paths] == [True, False, True]


def own_model(blocks, width=64):
    """Of layers alone, with a layer of Keras that reads the padding mask."""
    names = {"token_ids": "int32", "segment_ids": "int32", "padding_mask": "bool"}
    inputs = {x: keras.Input((None,), name=x, dtype=y) for x, y in names.items()}
    ids, segments, mask = inputs.values()
    embeddings = kbl.layers.Embeddings(70, width, 24, initializer_range=0.3)
    x = kbl.layers.Encoder(blocks=blocks)(embeddings(ids, segments), padding_mask=mask)
    x = keras.layers.GlobalAveragePooling1D()(x["sequence_output"])
    return keras.Model(inputs, {"scores": keras.layers.Dense(2)(x)})


def own_blocks(kind=kbl.layers.EncoderBlock):
    return [kind(4, 128) for _ in range(3)]


@pytest.mark.parametrize("keep", [None, [0, 2]])
def test_encoders_of_layers_alone(keep, tmp_path):
    """Padding is masked in the layers above them."""
    body = own_model(own_blocks())
    model, path = exported(body, tmp_path, keep=keep)
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    found = answers(path)["scores"].numpy()
    np.testing.assert_allclose(found, expected, atol=0.05)
    assert not np.array_equal(found, expected)
    for row, text in zip(found, tiny.TEXTS, strict=True):
        alone = answers(path, text=[text])["scores"][0]
        np.testing.assert_allclose(alone, row, atol=1e-4)


def test_blocks_of_a_users_class_are_refused(tmp_path):
    class Mine(kbl.layers.EncoderBlock):
        pass

    for options in ({}, {"int8": False, "calibration": None, "compute": "bfloat16"}):
        with pytest.raises(ValueError, match=r"blocks of a class of your own.*: Mine"):
            exported(own_model(own_blocks(Mine)), tmp_path, **options)


def operations(path):
    about = json.loads((path / "assets.extra" / "keras_bert_lite.json").read_text())
    return about["ops"]


def test_which_servers_can(example):
    _, path = example
    found = kbl.check_servable(path)
    assert found.versions[0] == "2.17.1"
    assert "no _QuantizedMatMul" in str(found)


def test_about_a_quarter_of_the_bytes(tmp_path):
    body = classifier(vocabulary_size=5000)
    sizes = {}
    for int8 in (False, True):
        texts = CALIBRATION if int8 else None
        _, path = exported(body, tmp_path / str(int8), int8=int8, calibration=texts)
        sizes[int8] = (path / "variables" / "variables.data-00000-of-00001").stat()
    assert sizes[True].st_size < 0.3 * sizes[False].st_size


@pytest.mark.parametrize(
    "changes",
    [
        {"norms": {"before": True, "after": False, "final": True}},
        {"num_groups": 1, "num_layers": 2},
        {"num_heads": 4, "num_key_value_heads": 2},
        {"biases": {"query": False, "key": False}, "activation": "relu"},
    ],
)
def test_other_encoders(changes, tmp_path):
    body = classifier(**changes)
    model, path = exported(body, tmp_path)
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    np.testing.assert_allclose(answers(path)["scores"], expected, atol=0.03)


def test_padded_rows(tmp_path):
    body = classifier()
    encoder_layers(encoder_of(body))[1].unpadding = False
    model, path = exported(body, tmp_path)
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    np.testing.assert_allclose(answers(path)["scores"], expected, atol=0.02)


def test_entities_and_answers(tmp_path):
    keras.utils.set_random_seed(0)
    encoder = tiny.encoder(num_layers=1, pooling=None)
    tagger = kbl.token_classifier(encoder, ["O", "B-X", "I-X"])
    _, path = exported(tagger, tmp_path / "tags")
    assert answers(path)["entities"].shape[0] == len(tiny.TEXTS)
    questions = kbl.question_answerer(encoder)
    _, path = exported(questions, tmp_path / "answers")
    found = answers(path, text=tiny.TEXTS[2:], text_pair=tiny.TEXTS[2:])
    assert found["answer"].shape[0] == 2


def test_texts_in_a_file(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\r\n".join(CALIBRATION), encoding="utf-8-sig")
    _, path = exported(classifier(), tmp_path / "m", calibration=file)
    assert (path / "saved_model.pb").is_file()
    assert calibration._checked_texts(file) == CALIBRATION


def test_files_that_are_refused(tmp_path):
    file = tmp_path / "texts.txt"
    one_line = "\u2028".join(CALIBRATION)
    for content, message in (
        (one_line.encode(), rf"Received: 1 in {file}"),
        (b"a fine day\n\xff\n", rf"{file}:2: must be UTF-8.*at byte 0"),
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            calibration._checked_texts(file)
    packed = tmp_path / "texts.txt.gz"
    packed.write_bytes(gzip.compress(b"a fine day")[:-9])
    with pytest.raises(ValueError, match=rf"{packed}: must be a whole compressed"):
        calibration._checked_texts(packed)


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        (None, ValueError, "some hundred texts.* Received: None"),
        ([], ValueError, "at least 16 different texts.* Received: 0"),
        (["a fine day"] * 50, ValueError, "at least 16 different .* Received: 1"),
        (list("abcdefghijklmnopqrstuvwxyz"), ValueError, "than a .* Received: 0$"),
        ([*CALIBRATION, 3], TypeError, "must be a list of texts.* Received: 3"),
        ("no/such/file", FileNotFoundError, "`calibration` .*no/such/file"),
    ],
)
def test_other_texts(texts, error, message, tmp_path):
    with pytest.raises(error, match=message):
        exported(classifier(), tmp_path / "m", calibration=texts)
    assert not (tmp_path / "m").exists()


def test_layers_in_float32(example, tmp_path):
    _, path = example
    model, kept = exported(classifier(num_layers=2), tmp_path, keep=[0])
    expected = model.predict(tiny.TEXTS, verbose=0)["scores"]
    found, whole = (answers(x)["scores"] for x in (kept, path))
    np.testing.assert_allclose(found, expected, atol=0.02)
    assert not np.array_equal(found, whole)  # errors of two layers may cancel
    products = [product_count(x) for x in (kept, path)]
    assert products == [4, 8]


def product_count(path):
    graph = tf.saved_model.load(str(path)).signatures["serving_default"].graph
    functions = graph.as_graph_def().library.function
    nodes = [x for function in functions for x in function.node_def]
    return sum(x.op == "_QuantizedMatMul" for x in nodes)


@pytest.mark.parametrize("keep", [[2], [-1], [0, 1], ["0"], [True], "0"])
def test_other_layers(keep, tmp_path):
    with pytest.raises(ValueError, match="`keep` must be a list of some of the 2"):
        exported(classifier(num_layers=2), tmp_path / "m", keep=keep)
    assert not (tmp_path / "m").exists()


def test_not_in_bfloat16_too(tmp_path):
    with pytest.raises(ValueError, match=r"`compute` must be None with `int8=True`"):
        exported(classifier(), tmp_path / "m", compute="bfloat16")


@pytest.mark.parametrize(
    ("name", "value"), [("calibration", CALIBRATION), ("keep", [0])]
)
def test_options_without_int8(name, value, tmp_path):
    options = {"int8": False, "calibration": None, name: value}
    with pytest.raises(ValueError, match=f"`{name}` must be None without"):
        exported(classifier(), tmp_path / "m", **options)


def test_other_encoders_are_refused(tmp_path):
    gated = classifier(gated=True)
    with pytest.raises(ValueError, match="`int8` must be False for encoders with"):
        exported(gated, tmp_path / "m")
    odd = classifier(activation="tanh")
    with pytest.raises(ValueError, match=r"`int8` must be False unless .* 'tanh'"):
        exported(odd, tmp_path / "m")


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
def test_quantized_models_are_refused(tmp_path):
    body = classifier()
    body.quantize("int8")
    with pytest.raises(ValueError, match="`model` must not be quantized"):
        exported(body, tmp_path / "m")


def test_numbers_that_are_not_finite(tmp_path):
    body = classifier()
    weights = [np.full_like(x, 1e38) for x in body.get_weights()]  # sums overflow
    body.set_weights(weights)
    with pytest.raises(ValueError, match="must compute finite numbers"):
        exported(body, tmp_path / "m")

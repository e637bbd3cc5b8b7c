"""The SavedModel: signatures, contents, versions."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import keras_bert_lite as kbl
from keras_bert_lite._files import DRAFT, LOCK, new_directory
from tests import tiny
from tests.policies import dtype_policy

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")
TEXT_OPS = {"FastBertNormalize", "FastWordpieceTokenizeWithOffsets"}


@pytest.fixture(scope="module")
def model():
    return kbl.with_text(tiny.classifier(), tiny.preprocessor())


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    return kbl.export_saved_model(model, tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module")
def loaded(path):
    return tf.saved_model.load(str(path))


def test_strings_in(model, loaded):
    texts = [tiny.TEXTS[i % 4] * (1 + i % 7) for i in range(64)]
    for batch in (texts[:1], texts):
        answer = loaded.signatures["serving_default"](text=tf.constant(batch))
        expected = model.predict(batch, verbose=0)
        labels = [label.decode() for label in answer["label"].numpy()]
        assert labels == expected["label"].tolist()
        np.testing.assert_allclose(answer["scores"], expected["scores"], atol=1e-5)


def test_empty_batch(loaded):
    answer = loaded.signatures["serving_default"](text=tf.constant([], tf.string))
    assert answer["label"].shape == (0,)
    assert answer["scores"].shape == (0, 2)


def test_ids_in(model, loaded):
    ids = tiny.preprocessor()(tiny.TEXTS)
    answer = loaded.signatures["token_ids"](**ids)
    expected = model.predict(tiny.TEXTS, verbose=0)
    np.testing.assert_allclose(answer["scores"], expected["scores"], atol=1e-5)


def test_input_names(loaded):
    _, inputs = loaded.signatures["serving_default"].structured_input_signature
    assert inputs == {"text": tf.TensorSpec([None], tf.string, name="text")}
    _, inputs = loaded.signatures["token_ids"].structured_input_signature
    assert sorted(inputs) == ["padding_mask", "segment_ids", "token_ids"]


def test_pairs_are_two_named_inputs(tmp_path):
    model = kbl.with_text(tiny.classifier(), tiny.preprocessor(), pairs=True)
    loaded = tf.saved_model.load(str(kbl.export_saved_model(model, tmp_path)))
    pair = {"text": tf.constant(["a day"]), "text_pair": tf.constant(["fine"])}
    answer = loaded.signatures["serving_default"](**pair)
    np.testing.assert_allclose(answer["scores"], model(pair)["scores"], atol=1e-5)


def test_the_name_of_a_prompt_is_an_input(tmp_path):
    prompts = {"prompts": {"query": "not "}}
    encoder = kbl.sentence_encoder(tiny.encoder())
    model = kbl.with_text(encoder, tiny.preprocessor(**prompts), prompt_name=True)
    path = kbl.export_saved_model(model, tmp_path)  # its warm-up names no other prompt
    assert kbl.check_servable(path).ok
    given = {"text": ["the day", "fine"], "prompt_name": ["query", ""]}
    expected = model.predict(given, verbose=0)["sentence_embedding"]
    signature = tf.saved_model.load(str(path)).signatures["serving_default"]
    found = signature(**{name: tf.constant(x) for name, x in given.items()})
    np.testing.assert_allclose(found["sentence_embedding"], expected, atol=1e-6)
    rows = [("the day", "query"), "fine"]
    for made in (model, path):
        answers = kbl.predict_texts(made, rows, progress=False)
        vectors = [x["sentence_embedding"] for x in answers]
        np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_encoder_outputs(tmp_path):
    encoder = kbl.encoder(tiny.config(), hidden_states=True)
    model = kbl.with_text(encoder, tiny.preprocessor())
    loaded = tf.saved_model.load(str(kbl.export_saved_model(model, tmp_path)))
    outputs = loaded.signatures["serving_default"](text=tf.constant(["a day"]))
    states = [f"hidden_states_{i}" for i in range(3)]
    assert sorted(outputs) == [*states, "pooled_output", "sequence_output"]
    expected = model(["a day"])["sequence_output"]
    np.testing.assert_allclose(outputs["sequence_output"], expected, atol=1e-5)
    np.testing.assert_allclose(outputs["hidden_states_2"], expected, atol=1e-5)


def test_mixed_precision_comes_out_as_float32(tmp_path):
    with dtype_policy("mixed_bfloat16"):
        model = kbl.with_text(kbl.encoder(tiny.config()), tiny.preprocessor())
    loaded = tf.saved_model.load(str(kbl.export_saved_model(model, tmp_path)))
    outputs = loaded.signatures["serving_default"](text=tf.constant(["a day"]))
    assert {x.dtype for x in outputs.values()} == {tf.float32}


def test_every_weight_is_stored_once(model, path):
    stored = path / "variables" / "variables.data-00000-of-00001"
    weights = sum(4 * np.prod(v.shape) for v in model.variables if "float" in v.dtype)
    assert weights <= stored.stat().st_size < 1.2 * weights + 20_000


def test_only_ops_that_servers_have(path):
    saved = saved_model_pb2.SavedModel.FromString(
        (path / "saved_model.pb").read_bytes()
    )
    graph = saved.meta_graphs[0].graph_def
    functions = [node for f in graph.library.function for node in f.node_def]
    ops = {node.op for node in [*graph.node, *functions]}
    assert {op for op in ops if "Fast" in op or "TFText" in op} == TEXT_OPS
    assert not {op for op in ops if "PyFunc" in op}


def test_versions(model, tmp_path):
    assert kbl.export_saved_model(model, tmp_path / "m").name == "1"
    assert kbl.export_saved_model(model, tmp_path / "m", version=7).name == "7"
    assert kbl.export_saved_model(model, tmp_path / "m").name == "8"
    with pytest.raises(FileExistsError, match="7 exists"):
        kbl.export_saved_model(model, tmp_path / "m", version=7)
    names = sorted(p.name for p in (tmp_path / "m").iterdir())
    assert names == ["1", "7", "8"]


def test_two_exports_at_once(model, tmp_path, monkeypatch):
    """Another one takes the version while this one writes."""
    save = tf.saved_model.save

    def slow(*args, **options):
        save(*args, **options)
        with new_directory(tmp_path / str(len(list(tmp_path.glob("[0-9]"))) + 1)) as x:
            (x / "saved_model.pb").touch()

    monkeypatch.setattr(tf.saved_model, "save", slow)
    assert kbl.export_saved_model(model, tmp_path, warmup=False).name == "2"
    with pytest.raises(FileExistsError, match=r"3 .*exist"):
        kbl.export_saved_model(model, tmp_path, version=3, warmup=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1", "2", "3"]


def test_a_file_instead_of_a_directory(model, tmp_path):
    (tmp_path / "new.txt").touch()
    for path in (tmp_path / "new.txt", tmp_path / "new.txt" / "m"):
        with pytest.raises(ValueError, match=r"`directory` must not be, .*new\.txt"):
            kbl.export_saved_model(model, path)


def test_removes_what_a_killed_export_left(model, tmp_path):
    left = tmp_path / "m" / f"{DRAFT}killed"
    left.mkdir(parents=True)
    (left / LOCK).touch()
    with new_directory(tmp_path / "m" / "2"):  # another export, at work
        kbl.export_saved_model(model, tmp_path / "m", version=1)
        assert not left.exists()
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == ["1", "2"]


def test_a_failed_export_leaves_nothing(model, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", fail)
    with pytest.raises(OSError, match="No space left"):
        kbl.export_saved_model(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("version", [0, -1, True, "1"])
def test_version_must_be_positive(model, tmp_path, version):
    with pytest.raises(ValueError, match="`version` must be a positive integer"):
        kbl.export_saved_model(model, tmp_path, version=version)


def test_model_must_take_strings(tmp_path):
    with pytest.raises(TypeError, match="made by `with_text`"):
        kbl.export_saved_model(tiny.classifier(), tmp_path)

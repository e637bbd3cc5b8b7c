"""Sentence embeddings, and directories of sentence-transformers."""

import json

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.models.samples import tensorflow_only


def vectors(model, texts=tiny.TEXTS):
    return np.asarray(model(tiny.preprocessor()(texts))["sentence_embedding"])


@pytest.mark.parametrize("pooling", ["mean", "max", "cls", "attention"])
@pytest.mark.parametrize("normalize", [True, False])
def test_vectors_are_pooled_tokens(pooling, normalize):
    encoder = tiny.encoder()
    model = kbl.sentence_encoder(encoder, pooling, normalize)
    inputs = tiny.preprocessor()(tiny.TEXTS)
    tokens = np.asarray(encoder(inputs)["sequence_output"])
    rows = [
        x[m] for x, m in zip(tokens, np.asarray(inputs["padding_mask"]), strict=True)
    ]
    reduce = {
        "mean": lambda x: x.mean(0),
        "max": lambda x: x.max(0),
        "cls": lambda x: x[0],
    }
    found = vectors(model)
    if normalize:
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    if pooling in reduce:
        expected = np.stack([reduce[pooling](x) for x in rows])
        if normalize:
            expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
@pytest.mark.parametrize("normalize", [True, False])
def test_round_trip_of_a_directory(tmp_path, pooling, normalize):
    model = kbl.sentence_encoder(tiny.encoder(), pooling, normalize)
    kbl.save_hugging_face(model, tiny.preprocessor(), tmp_path / "out")
    again = kbl.load_model(tmp_path / "out")
    np.testing.assert_array_equal(vectors(again), vectors(model))
    assert kbl.load_preprocessor(tmp_path / "out").sequence_length == 16
    assert sorted(kbl.load_encoder(tmp_path / "out").output) == [
        "pooled_output",
        "sequence_output",
    ]


def several(**options):
    """Several poolings, and dense layers behind them."""
    tanh = keras.layers.Dense(12, "tanh", name="first")
    last = keras.layers.Dense(6, use_bias=False, name="second")
    poolings = options.pop("pooling", ["mean", "cls", "last"])
    return kbl.sentence_encoder(tiny.encoder(), poolings, dense=[tanh, last], **options)


def test_joined_poolings_and_dense_layers():
    model = several(normalize=False)
    parts = [
        vectors(kbl.sentence_encoder(kbl.encoder_of(model), pooling, normalize=False))
        for pooling in ("mean", "cls", "last")
    ]
    first, second = model.get_layer("first"), model.get_layer("second")
    kernel, bias = (np.asarray(x) for x in first.weights)
    hidden = np.tanh(np.concatenate(parts, 1) @ kernel + bias)
    expected = hidden @ np.asarray(second.kernel)
    np.testing.assert_allclose(vectors(model), expected, atol=1e-5)
    assert model.output["sentence_embedding"].shape == (None, 6)


@pytest.mark.parametrize("pooling", ["weighted_mean", ["cls", "max"], ["mean", "cls"]])
def test_round_trip_of_dense_modules(tmp_path, pooling):
    model = several(pooling=pooling)
    kbl.save_hugging_face(model, tiny.preprocessor(), tmp_path / "out")
    again = kbl.load_model(tmp_path / "out")
    np.testing.assert_allclose(vectors(again), vectors(model), atol=1e-6)


def test_cut_vectors():
    whole = kbl.sentence_encoder(tiny.encoder(), normalize=False)
    cut = kbl.sentence_encoder(kbl.encoder_of(whole), dimensions=5)
    expected = vectors(whole)[:, :5]
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors(cut), expected, atol=1e-5)
    with pytest.raises(ValueError, match="`dimensions` must be at most"):
        kbl.sentence_encoder(kbl.encoder_of(whole), dimensions=10**6)


def test_cut_vectors_have_no_place_in_their_layout(tmp_path):
    model = kbl.sentence_encoder(tiny.encoder(), dimensions=5)
    with pytest.raises(ValueError, match=r"truncate_dim.*dimensions=5"):
        kbl.save_hugging_face(model, None, tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": []}, "`pooling` must be one or more"),
        ({"pooling": "first"}, "`pooling` must be one of"),
        ({"dimensions": 0}, "`dimensions` must be"),
        ({"prompt_length": 2, "pooling": "weighted_mean"}, "`prompt_length` must be 0"),
    ],
)
def test_refused_options(options, message):
    with pytest.raises(ValueError, match=message):
        kbl.sentence_encoder(tiny.encoder(), **options)
    with pytest.raises(TypeError, match="`dense` must be Dense layers"):
        kbl.sentence_encoder(tiny.encoder(), dense=[keras.layers.Dropout(0.1)])


def damaged(folder, **changes):
    """Writes a directory with a dense module whose configuration is changed."""
    kbl.save_hugging_face(several(pooling="mean"), None, folder)
    path = folder / "2_Dense" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation_function": "os.system"}, "`activation_function` must be one of"),
        ({"bias": 1}, "`bias` true or false"),
        ({"bias": False}, "the weights must have the shapes"),
        ({"out_features": 10**9}, "the weights must have the shapes"),
        ({"use_residual": True}, "`use_residual` must be False"),
    ],
)
def test_refused_dense_modules(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        kbl.load_model(damaged(tmp_path / "out", **changes))


@tensorflow_only
def test_small_vectors_are_options_of_strings(tmp_path):
    encoder = kbl.sentence_encoder(tiny.encoder(), normalize=False)
    whole = vectors(encoder)
    cut = whole[:, :5] / np.linalg.norm(whole[:, :5], axis=1, keepdims=True)
    options = {"dimensions": 5, "precision": "int8"}
    model = kbl.with_text(encoder, tiny.preprocessor(), **options)
    found = model.predict(tiny.TEXTS, verbose=0)["sentence_embedding"]
    assert found.dtype == "int8"
    np.testing.assert_array_equal(found, np.round(127 * cut))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        again.predict(tiny.TEXTS, verbose=0)["sentence_embedding"], found
    )
    floats = kbl.with_text(encoder, tiny.preprocessor(), dimensions=5)
    found = floats.predict(tiny.TEXTS, verbose=0)["sentence_embedding"]
    np.testing.assert_allclose(found, cut, atol=1e-6)


@tensorflow_only
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimensions": 10**6}, "`dimensions` must be at most"),
        ({"dimensions": 0}, "`dimensions` must be"),
        ({"precision": "int4"}, "`precision` must be one of"),
    ],
)
def test_refused_options_of_strings(options, message):
    model = kbl.sentence_encoder(tiny.encoder())
    with pytest.raises(ValueError, match=message):
        kbl.with_text(model, tiny.preprocessor(), **options)


def test_survives_a_file_and_strings(tmp_path):
    model = kbl.with_text(kbl.sentence_encoder(tiny.encoder()), tiny.preprocessor())
    expected = model.predict(tiny.TEXTS)["sentence_embedding"]
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        again.predict(tiny.TEXTS)["sentence_embedding"], expected, atol=1e-6
    )


def test_learned_pooling_has_no_place_in_their_layout(tmp_path):
    model = kbl.sentence_encoder(tiny.encoder(), "attention")
    with pytest.raises(
        ValueError, match=r"no place for these weights|only the poolings"
    ):
        kbl.save_hugging_face(model, None, tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([{"type": "a.Transformer", "path": ""}], "must be Transformer, Pooling and"),
        ([{"type": "a.Transformer", "path": "../x"}], "must be a name in the same"),
        ([{"path": ""}], "is not a list of modules"),
        ({"a": 1}, "is not a list of modules"),
    ],
)
def test_refused_modules(tmp_path, modules, message):
    kbl.save_hugging_face(kbl.sentence_encoder(tiny.encoder()), None, tmp_path / "out")
    (tmp_path / "out" / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ValueError, match=message):
        kbl.load_model(tmp_path / "out")


def test_refused_poolings(tmp_path):
    kbl.save_hugging_face(kbl.sentence_encoder(tiny.encoder()), None, tmp_path / "out")
    path = tmp_path / "out" / "1_Pooling" / "config.json"
    for config in ({"pooling_mode": "median"}, {"pooling_mode": ["cls", 1]}, {}):
        path.write_text(json.dumps(config))
        with pytest.raises(ValueError, match="the pooling must be one of"):
            kbl.load_model(tmp_path / "out")


@tensorflow_only
class TestPromptNames:
    PROMPTS = {"query": "not ", "document": "bad "}  # noqa: RUF012

    def strings(self, **options):
        model = kbl.sentence_encoder(tiny.encoder())
        made = tiny.preprocessor(prompts=self.PROMPTS)
        return model, kbl.with_text(model, made, prompt_name=True, **options)

    def test_vectors_are_those_of_prompt_and_text(self, tmp_path):
        model, strings = self.strings()
        strings.save(tmp_path / "model.keras")
        again = keras.saving.load_model(tmp_path / "model.keras")
        expected = vectors(model, ["not the day", "fine", "bad day"])
        given = {
            "text": ["the day", "fine", "day"],
            "prompt_name": ["query", "", "document"],
        }
        for each in (strings, again):
            found = each.predict(given, verbose=0)["sentence_embedding"]
            np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_one_name_or_none_for_all(self):
        model, strings = self.strings(dimensions=4)
        cut = kbl.with_text(model, tiny.preprocessor(), dimensions=4)
        texts = ["the day", "a"]
        for given, written in (
            ({"text": texts, "prompt_name": "query"}, ["not the day", "not a"]),
            ({"text": texts}, texts),
            (texts, texts),
        ):
            found, expected = (
                x.predict(y, verbose=0)["sentence_embedding"]
                for x, y in ((strings, given), (cut, written))
            )
            np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_refuses(self):
        model, strings = self.strings()
        with pytest.raises(ValueError, match=r"must be one of \['query', 'document'\]"):
            strings.predict({"text": ["a"], "prompt_name": "x"}, verbose=0)
        with pytest.raises(ValueError, match="must have the same number of rows"):
            strings.predict({"text": ["a"], "prompt_name": ["query"] * 2}, verbose=0)
        with pytest.raises(ValueError, match="`preprocessor` must have `prompts`"):
            kbl.with_text(model, tiny.preprocessor(), prompt_name=True)
        skipping = kbl.sentence_encoder(tiny.encoder(), prompt_length=2)
        made = tiny.preprocessor(prompts=self.PROMPTS, default_prompt_name="query")
        with pytest.raises(ValueError, match="a model with prompt_length=2"):
            kbl.with_text(skipping, made, prompt_name=True)
        with pytest.raises(
            TypeError, match=r"\['top_k'\] options. .*\['prompt_name'\]"
        ):
            kbl.with_text(kbl.masked_lm(tiny.encoder()), made, prompt_name=True)

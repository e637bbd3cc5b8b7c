"""Sentence embeddings, and directories of sentence-transformers."""

import json

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny


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
    for config in ({"pooling_mode_weightedmean_tokens": True}, {}):
        path.write_text(json.dumps(config))
        with pytest.raises(ValueError, match="the pooling must be one of"):
            kbl.load_model(tmp_path / "out")

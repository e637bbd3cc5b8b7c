"""Vectors of words in their contexts."""

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite import layers
from keras_bert_lite.visualization import (
    meaning,
    plot_layer_mix,
    plot_map,
    word_vectors,
)
from tests import tiny
from tests.conformance import randomize
from tests.visualization.pictures import texts_of

pytestmark = pytest.mark.tensorflow(reason="texts become ids on TensorFlow")
SENTENCES = ["Is the finer day bad?", "not the day", "a FINER, finer day is fine"]


@pytest.fixture(scope="module")
def encoder():
    encoder = tiny.encoder()
    randomize(encoder)
    return encoder


def vectors(encoder, *args):
    return word_vectors(encoder, *args, tiny.preprocessor())


def test_the_mean_of_the_pieces_on_every_layer(encoder):
    found = vectors(encoder, [SENTENCES[0], SENTENCES[2]], "finer")
    assert found.words == ("finer", "FINER")
    assert found.spans == ((7, 12), (2, 7))
    assert found.pieces == (("fine", "##r"),) * 2
    states = kbl.with_hidden_states(encoder, attentions=False)
    for i, (sentence, columns) in enumerate(
        [(SENTENCES[0], [3, 4]), (SENTENCES[2], [2, 3])]
    ):
        hidden = states(tiny.preprocessor()([sentence]))["hidden_states"]
        for layer, x in enumerate(hidden):
            expected = np.asarray(x)[0, columns].mean(axis=0)
            np.testing.assert_allclose(
                found.vectors(layer)[i], expected, atol=1e-5, rtol=1e-4
            )
    table = np.asarray(encoder.get_layer("embeddings").token_embedding.embeddings)
    ids = [tiny.VOCABULARY.index(x) for x in ("fine", "##r")]
    np.testing.assert_allclose(found.static[0], table[ids].mean(axis=0), atol=1e-6)


def test_a_word_or_characters_for_each_sentence(encoder):
    found = vectors(encoder, SENTENCES, ["the", (8, 11), (8, 12)])
    assert found.words == ("the", "day", " fin")
    assert repr(found) == "<WordVectors: ['the', 'day', ' fin']>"
    assert found.pieces[2] == ("fine",)


def test_batches_change_nothing(encoder, monkeypatch):
    expected = vectors(encoder, SENTENCES, "day")
    monkeypatch.setattr(meaning, "BATCH_SIZE", 2)
    found = vectors(encoder, SENTENCES, "day")
    np.testing.assert_allclose(found.states, expected.states, atol=1e-5)


def test_static_vectors_know_no_context(encoder):
    found = vectors(encoder, SENTENCES, "day")
    np.testing.assert_allclose(found.similarity(None), 1.0, atol=1e-5)
    cosines = found.similarity(-1)
    x = found.vectors(2)
    expected = x[0] @ x[1] / np.linalg.norm(x[0]) / np.linalg.norm(x[1])
    assert cosines[0, 1] == pytest.approx(expected, abs=1e-5)
    assert cosines[0, 1] < 0.999
    figure = found.plot_similarity()
    texts = texts_of(figure)
    assert {"without context", "in context, layer 2"} <= set(texts)
    assert f"{cosines[0, 1]:.2f}" in texts
    assert "2 not the [day]" in texts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("the day", "day"), "`sentences` must be a list"),
        (([], "day"), "`sentences` must be a list"),
        ((SENTENCES, ["day"]), "one for each sentence. Received: 1 for 3"),
        ((SENTENCES, "da"), "must stand in their sentences. Received: 'da'"),
        ((SENTENCES, ""), "must stand in their sentences"),
        ((["a day"], [(3, 9)]), "characters `\\(start, end\\)`"),
        ((["a day"], [(1, 2)]), "must have pieces"),
        ((["the day " * 9], [(64, 67)]), "cuts a sentence off"),
    ],
)
def test_refuses_words_that_are_not_there(encoder, arguments, message):
    with pytest.raises(ValueError, match=message):
        vectors(encoder, *arguments)


def test_refuses_layers_that_are_not_there(encoder):
    with pytest.raises(ValueError, match=r"`layer` must be in \[0, 3\).*Received: 3"):
        vectors(encoder, SENTENCES, "day").vectors(3)


def test_a_map_has_every_point_once():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(20, 8)), rng.normal(size=(10, 8)) + 9])
    names = [f"${i}" for i in range(30)]
    figure = plot_map(x, names, ["a"] * 20 + ["b"] * 10)
    assert sorted(x for x in texts_of(figure) if x in names) == sorted(names)
    first, second = figure.axes[0].collections
    across = [x.get_offsets()[:, 0] for x in (first, second)]
    assert max(across[0]) < min(across[1]) or max(across[1]) < min(across[0])
    assert len(plot_map(x, names).axes[0].collections) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 4)), ["a", "b"]), "`vectors` must have the shape"),
        ((np.ones(4), ["a"] * 4), "`vectors` must have the shape"),
        ((np.eye(3), ["a"]), "`labels` must be as many"),
        ((np.eye(3), list("abc"), ["x"]), "`groups` must be as many"),
    ],
)
def test_refuses_maps_of_other_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_map(*arguments)


def test_the_shares_of_a_mix():
    mix = layers.LayerMix()
    mix([np.ones((1, 2, 4), "float32")] * 3)
    mix.scores.assign([0.0, np.log(2.0), 0.0])
    assert {"0.25", "0.50"} <= set(texts_of(plot_layer_mix(mix)))
    with pytest.raises(TypeError, match=r"`mix` must be a `layers.LayerMix`"):
        plot_layer_mix(layers.Pooler())

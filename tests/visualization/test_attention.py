"""Attention maps: the weights, and their pictures."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.visualization import AttentionMaps, attention_maps
from tests import tiny
from tests.conformance import randomize
from tests.text import token_samples
from tests.visualization.pictures import texts_of

pytestmark = pytest.mark.tensorflow(reason="texts become ids on TensorFlow")
TEXT, PAIR = "the day is fine", ("the day", "is it not bad?")


@pytest.fixture(scope="module")
def encoder():
    encoder = tiny.encoder()
    randomize(encoder)
    return encoder


@pytest.fixture(scope="module")
def maps(encoder):
    return attention_maps(encoder, PAIR, tiny.preprocessor())


def test_the_weights_are_those_of_the_encoder(encoder):
    found = attention_maps(encoder, TEXT, tiny.preprocessor())
    assert found.tokens == ("[CLS]", "the", "day", "is", "fine", "[SEP]")
    assert found.special.tolist() == [True, *[False] * 4, True]
    outputs = kbl.with_hidden_states(encoder)(tiny.preprocessor()([TEXT]))
    expected = np.concatenate(outputs["attentions"])
    np.testing.assert_allclose(found.weights, expected, atol=1e-6)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1.0, atol=1e-5)


def test_a_pair_is_one_row(maps):
    assert maps.texts == PAIR
    assert " ".join(maps.tokens) == "[CLS] the day [SEP] is i ##t not bad ? [SEP]"
    assert maps.segments.tolist() == [0] * 4 + [1] * 7
    assert np.flatnonzero(maps.special).tolist() == [0, 3, 10]


def test_every_kind_of_model(encoder, maps):
    preprocessor = tiny.preprocessor(stride=2)
    classifier = kbl.text_classifier(encoder, ["bad", "fine"])
    tagger = kbl.token_classifier(encoder, ["O", "B-X", "I-X"])
    for model, own in (
        (classifier, preprocessor),
        (kbl.with_text(tagger, preprocessor), None),
        (kbl.with_text(classifier, tiny.preprocessor(), pairs=True), None),
    ):
        found = attention_maps(model, {"text": PAIR[0], "text_pair": PAIR[1]}, own)
        assert found.tokens == maps.tokens
        np.testing.assert_allclose(found.weights, maps.weights, atol=1e-6)


def test_what_is_too_long_is_cut_off(encoder):
    found = attention_maps(encoder, "the day " * 30, tiny.preprocessor(8))
    assert found.weights.shape == (2, 2, 8, 8)
    assert found.tokens[-1] == "[SEP]"


def test_heads_and_their_mean(maps):
    assert repr(maps) == "<AttentionMaps: 2 layers, 2 heads, 11 tokens>"
    assert np.array_equal(maps.head(-1, 0), maps.weights[1, 0])
    assert np.array_equal(maps.head(0), maps.weights[0].mean(axis=0))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("layer", lambda x: x.head(2)),
        ("head", lambda x: x.plot_head(0, -3)),
        ("token", lambda x: x.plot_lines(0, 0, token=11)),
    ],
)
def test_refuses_what_is_not_there(maps, name, call):
    with pytest.raises(ValueError, match=f"`{name}` must be in .*Received"):
        call(maps)


def test_refuses_models_without_strings_or_text_that_is_none(encoder):
    string_model = kbl.with_text(encoder, tiny.preprocessor())
    with pytest.raises(TypeError, match="`preprocessor` must be a `Preprocessor`"):
        attention_maps(encoder, TEXT)
    with pytest.raises(TypeError, match="None if it takes strings"):
        attention_maps(string_model, TEXT, tiny.preprocessor())
    with pytest.raises(TypeError, match="`text` must be one string"):
        attention_maps(string_model, [TEXT])
    with pytest.raises(ValueError, match="must have a position for every token"):
        attention_maps(encoder, TEXT, tiny.preprocessor(None))
    with pytest.raises(ValueError, match="must be an encoder or a model"):
        attention_maps(keras.Sequential(), TEXT, tiny.preprocessor())


def test_pictures_name_the_tokens(maps):
    for figure in (maps.plot_head(1, 0), maps.plot_lines(1), maps.plot_lines(0, 1, 2)):
        names = texts_of(figure)
        for token in set(maps.tokens):
            assert names.count(token) == 2 * maps.tokens.count(token)
    assert "layer 1, head 0" in texts_of(maps.plot_head(-1, -2))
    assert "layer 1, mean of the heads" in texts_of(maps.plot_lines(1))


def test_lines_are_as_strong_as_weights(maps):
    lines = maps.plot_lines(0, 1).axes[0].lines
    assert sorted(x.get_alpha() for x in lines) == pytest.approx(
        sorted(x for x in maps.weights[0, 1].flat if x >= 0.02)
    )
    of_one = maps.plot_lines(0, 1, token=2).axes[0].lines
    assert {x.get_ydata()[0] for x in of_one} == {2}


def test_the_grid_has_every_weight(maps):
    axes = maps.plot_grid().axes[0]
    image = np.asarray(axes.images[0].get_array()) ** 2
    size = len(maps.tokens)
    assert image.shape == (2 * size + 1, 2 * size + 1)
    np.testing.assert_allclose(image[-size:, :size], maps.weights[1, 0], atol=1e-6)
    assert [x.get_text() for x in axes.get_xticklabels()] == ["0", "1"]


@pytest.mark.parametrize("kind", ["byte_pair", "sentence_piece"])
def test_other_tokenizers(kind):
    tokenizer = getattr(token_samples, kind)()
    preprocessor = kbl.Preprocessor(tokenizer, 16, num_separators=2)
    encoder = tiny.encoder(vocabulary_size=tokenizer.vocabulary_size())
    found = attention_maps(encoder, PAIR, preprocessor)
    assert found.special.sum() == 4
    assert found.weights.shape[-1] == len(found.tokens)


def test_a_page_of_bert_base_is_small(maps):
    weights = np.full((12, 12, 30, 30), 1 / 30, "float32")
    tokens = ("characterization",) * 30
    special = np.zeros(30, bool)
    found = AttentionMaps(("text",), tokens, np.zeros(30, int), special, weights)
    assert len(found.to_html().encode()) <= 300_000
    assert len(found._repr_html_().encode()) <= 300_000

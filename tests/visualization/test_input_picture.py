"""Pictures of an encoder's input."""

import itertools

import pytest

import keras_bert_lite as kbl
from keras_bert_lite.visualization import plot_input, plot_pieces
from tests import tiny
from tests.text import token_samples
from tests.visualization.pictures import texts_of

pytestmark = pytest.mark.tensorflow(reason="texts become ids on TensorFlow")
PAIR = ("the day", "is it bad?")


def test_the_embeddings_that_are_summed():
    texts = texts_of(plot_input(tiny.encoder(), PAIR, tiny.preprocessor()))
    tokens = ["[CLS]", "the", "day", "[SEP]", "is", "i", "##t", "bad", "?", "[SEP]"]
    assert [x for x in texts if x in tokens] == tokens
    ids = [tiny.VOCABULARY.index(x) for x in tokens]
    rows = [*ids, *[0] * 4, *[1] * 6, *range(10)]
    assert [x for x in texts if x.startswith("$E")] == [f"$E_{{{x}}}$" for x in rows]
    assert texts.count("+") == 2 * len(tokens)


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"num_segments": 0}, "segment\nembeddings"),
        ({"max_sequence_length": None}, "position\nembeddings"),
    ],
)
def test_families_have_their_own_embeddings(changes, missing):
    texts = texts_of(plot_input(tiny.encoder(**changes), PAIR, tiny.preprocessor()))
    assert missing not in texts
    assert "token\nembeddings" in texts


def test_positions_of_roberta_begin_later():
    encoder = tiny.encoder(position_offset=2)
    texts = texts_of(plot_input(encoder, "a day", tiny.preprocessor()))
    found = [x for x in texts if x.startswith("$E")]
    assert found[-4:] == [f"$E_{{{x}}}$" for x in (2, 3, 4, 5)]


def test_words_and_their_pieces():
    figure = plot_pieces(tiny.tokenizer(), "Finer weather, é€!")
    texts = texts_of(figure)
    assert "5 words, 6 pieces" in texts
    for word in ("Finer", "weather", ",", "é€", "!"):
        assert word in texts
    pieces = [("fine", "##r"), ("weather",), (",",), ("[UNK]",), ("!",)]
    for piece in (x for word in pieces for x in word):
        assert piece in texts


@pytest.mark.parametrize("text", ["", "  "])
def test_nothing_to_show(text):
    assert "0 words, 0 pieces" in texts_of(plot_pieces(tiny.tokenizer(), text))


@pytest.mark.parametrize("kind", ["byte_pair", "sentence_piece"])
def test_other_tokenizers_have_words_too(kind):
    tokenizer = getattr(token_samples, kind)()
    texts = texts_of(plot_pieces(tokenizer, "a b a"))
    assert any(x.startswith("3 words") for x in texts)


def test_boxes_fit_the_picture_and_each_other():
    figure = plot_pieces(tiny.tokenizer(), "the finer the day the finer weather " * 5)
    boxes = [x.get_bbox() for x in figure.axes[0].patches]
    assert max(x.x1 for x in boxes) <= 10
    rows = {}
    for box in boxes:
        rows.setdefault(round(box.y0, 3), []).append((box.x0, box.x1))
    for spans in rows.values():
        spans.sort()
        assert all(a[1] < b[0] for a, b in itertools.pairwise(spans))


def test_dollars_are_no_formulas():
    pieces = [*tiny.VOCABULARY, "$aa", "bb$"]
    tokenizer = kbl.WordPieceTokenizer(pieces, added_tokens=["$aa", "bb$"])
    figure = plot_pieces(tokenizer, "$aa bb$ the")
    assert {"$aa", "bb$"} <= set(texts_of(figure))


@pytest.mark.parametrize("text", [None, ["a"], ("a", "b")])
def test_refuses_what_is_no_string(text):
    with pytest.raises(TypeError, match=r"`text` must be one string\. Received"):
        plot_pieces(tiny.tokenizer(), text)

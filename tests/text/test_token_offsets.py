"""Which tokens begin words, and which words they are from."""

import itertools
import resource

import pytest
import tensorflow as tf

from keras_bert_lite.checkpoints.tokenizers.sentence_piece import arguments_from
from keras_bert_lite.text.byte_pair.tokenizer import BytePairTokenizer
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from keras_bert_lite.text.token_offsets import (
    firsts_of,
    locate,
    locate_words,
    word_begins,
)
from tests import tiny
from tests.paths import VOCABULARIES
from tests.text.token_samples import byte_pair
from tests.training.data.files import DATA

needs_vocabularies = pytest.mark.skipif(
    not VOCABULARIES.is_dir(),
    reason=f"{DATA} has no vocabularies; KERAS_BERT_LITE_DATA names the folder",
)
TEXT = "Hello, wörld-wide stop2go naïveté (Paris) 日本 😀 x_y!  end"
WORDS = [
    *("Hello", ",", "wörld", "-", "wide", "stop2go", "naïveté", "(", "Paris", ")"),
    *("日本", "😀", "x_y", "!", "end"),
]


@pytest.fixture(scope="module", params=["byte_pair", "sentence_piece"])
def tokenizer(request):
    if request.param == "sentence_piece":
        return SentencePieceTokenizer(**arguments_from(VOCABULARIES / "albert"))
    folder = VOCABULARIES / "roberta-base"
    files = folder / "vocab.json", folder / "merges.txt"
    return BytePairTokenizer(*files, add_prefix_space=True)


def begins(tokenizer, texts):
    """Returns where words begin, for each text."""
    tokens = locate(tokenizer, tf.constant(texts))
    starts = tf.ragged.boolean_mask(
        tokens.ids.with_values(tokens.starts),
        tokens.ids.with_values(word_begins(tokenizer, tokens)),
    )
    return starts.to_list()


def numbered(tokenizer, words):
    """Returns for each row the pairs of a piece and its word."""
    tokens, numbers = locate_words(tokenizer, tf.constant(words))
    pieces = tokenizer.get_vocabulary()
    found = [[] for _ in words]
    for row, piece, number in zip(
        tokens.rows.numpy(), tokens.ids.values.numpy(), numbers.numpy(), strict=True
    ):
        found[row].append((pieces[piece], int(number)))
    return found


def starts_of(words, text):
    places, end = [], 0
    for word in words:
        places.append(text.index(word, end))
        end = places[-1] + len(word)
    return places


@needs_vocabularies
def test_words_of_real_vocabularies_begin_where_they_should(tokenizer):
    assert begins(tokenizer, [TEXT, "", "a", " "]) == [
        starts_of(WORDS, TEXT), [], [0], []
    ]  # fmt: skip


@needs_vocabularies
def test_given_words_of_real_vocabularies(tokenizer):
    rows = [WORDS, ["", "a b", "", "don't", "\x01", " lead", "日", "😀", *[""] * 7]]
    for words, found in zip(rows, numbered(tokenizer, rows), strict=True):
        seen = [number for _, number in found]
        assert seen == sorted(seen)
        missing = {words[i] for i in set(range(len(words))) - set(seen)}
        assert missing <= {"", "\x01"}
        for number, group in itertools.groupby(found, lambda x: x[1]):
            pieces = "".join(piece for piece, _ in group)
            if words[number].isascii() and words[number].isalnum():
                assert pieces.strip("▁Ġ").lower() == words[number].lower()


def test_wordpieces_continue_words():
    assert begins(tiny.tokenizer(), ["finer?", "", "a\u0301b day"]) == [
        [0, 5], [], [0, 4]
    ]  # fmt: skip


def test_pieces_of_given_words():
    words = [["Finer", "a-b", ""], ["", "\x01", "x"]]
    assert numbered(tiny.tokenizer(), words) == [
        [("fine", 0), ("##r", 0), ("a", 1), ("[UNK]", 1), ("b", 1)],
        [("x", 2)],
    ]


def test_invalid_utf8_is_no_part_of_a_text():
    tokens = locate(tiny.tokenizer(), tf.constant([b"a\xff b"]))
    assert tokens.text.numpy().tolist() == [b"a b"]
    assert tokens.starts.numpy().tolist() == [0, 2]
    assert numbered(tiny.tokenizer(), [[b"\xff", b"a"]]) == [[("a", 1)]]


def test_first_tokens_of_words():
    rows, words = tf.constant([0, 0, 0, 1, 2]), tf.constant([0, 0, 1, 1, 1])
    assert firsts_of(rows, words).numpy().tolist() == [True, False, True, True, True]


def test_memory_is_linear_in_the_text():
    text = tf.constant(["a day " * 20_000])  # with a copy for each token: 9 GB
    tokens = locate(byte_pair(), text)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begins = word_begins(byte_pair(), tokens)
    assert tf.math.count_nonzero(begins).numpy() == 40_000
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 500_000  # kB

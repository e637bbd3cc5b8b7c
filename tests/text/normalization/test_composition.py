"""NFC beside Hugging Face's, which knows an older version of Unicode."""

import random

import pytest
import tensorflow as tf
from tokenizers import normalizers

from keras_bert_lite.text.normalization.nfc import NFC
from keras_bert_lite.text.unicode import graphemes
from keras_bert_lite.text.unicode.code_points import code_points

THEIRS = normalizers.NFC().normalize_str


@pytest.fixture(scope="module")
def ours():
    return NFC()


def random_strings(count=3_000, seed=0):
    rng = random.Random(seed)
    kinds = [
        sorted(code_points(x))
        for x in (graphemes.EXTENDS, graphemes.LATE, graphemes.DECOMPOSED)
    ]
    kinds += [range(0x41, 0x5B), range(0x300, 0x370), range(0x1100, 0x1200)]
    lengths = [rng.randrange(8) for _ in range(count)]
    return [
        "".join(chr(rng.choice(rng.choice(kinds))) for _ in range(n)) for n in lengths
    ]


def test_random_marks(ours):
    texts = random_strings()
    composed = ours(tf.constant(texts)).numpy()
    assert [x.decode() for x in composed] == list(map(THEIRS, texts))


def test_every_character_between_marks(ours):
    characters = [chr(c) for c in (*range(1, 0xD800), *range(0xE000, 0x1F000, 3))]
    texts = [f"a\u0345{x}\u0334" for x in characters]
    composed = ours(tf.constant(texts)).numpy()
    assert [x.decode() for x in composed] == list(map(THEIRS, texts))


@pytest.mark.parametrize("texts", [[], [""], ["abc", "caf\u00e9"]])
def test_what_is_composed_stays(ours, texts):
    strings = tf.constant(texts, tf.string)
    assert ours(strings).numpy().tolist() == strings.numpy().tolist()
    assert ours.characters(strings).starts.shape == (sum(map(len, texts)),)


def test_origins_are_counted_from_the_start(ours):
    # The dot below moves before the acute accent, and into the letter.
    characters = ours.characters(tf.constant(["\u00e9\u0323\u0323x", "e\u0301"]))
    points = "".join(map(chr, characters.code_points.numpy()))
    assert points == "\u1eb9\u0323\u0301x\u00e9"
    assert characters.starts.numpy().tolist() == [0, 2, 2, 3, 0]
    assert characters.ends.numpy().tolist() == [1, 3, 3, 4, 1]
    assert characters.rows.numpy().tolist() == [0, 0, 0, 0, 1]

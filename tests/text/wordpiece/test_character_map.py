"""The compiled map, run by tensorflow-text's op, against the table."""

import functools
import random

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert_lite.text.wordpiece.character_map import compile_character_map
from keras_bert_lite.text.wordpiece.cleaning import Normalization

SWITCHES = [
    Normalization(),
    Normalization(lowercase=False, strip_accents=False),
    Normalization(strip_accents=False),
    Normalization(split_cjk=False),
]
CODE_POINTS = [*range(0xD800), *range(0xE000, 0x110000)]
# Where UTF-8 changes its length, and the ends of blocks of the trie.
EDGES = [
    *(0, 1, 0x3F, 0x40, 0x7F, 0x80, 0xBF, 0xC0, 0x7FF, 0x800, 0xFFF, 0x1000),
    *(0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF),
]


def normalizer(images):
    model = compile_character_map(images)
    return tf_text.FastBertNormalizer(model_buffer=model)


def apply(images, texts):
    return [x.decode() for x in normalizer(images).normalize(texts).numpy()]


@functools.cache
def every_character():
    column = np.array(CODE_POINTS, np.int32)[:, None]
    return tf.strings.unicode_encode(column, "UTF-8")


class TestEveryCodePoint:
    @pytest.mark.parametrize("switches", SWITCHES, ids=str)
    def test_equals_the_table(self, switches):
        images = switches.code_point_map()
        expected = [images.get(c, chr(c)).encode() for c in CODE_POINTS]
        received = normalizer(images).normalize(every_character())
        assert received.numpy().tolist() == expected

    def test_empty_map_changes_nothing(self):
        texts = every_character()
        received = normalizer({}).normalize(texts)
        assert bool(tf.reduce_all(received == texts))


class TestImages:
    def test_random_maps(self):
        rng = random.Random(0)
        for size in (1, 10, 1000):
            keys = {*rng.sample(CODE_POINTS, size), *rng.sample(EDGES, 10)}
            pool = ["", " ", "a", "é日😀", "b" * 63, "é" * 31, "\0"]
            images = {c: rng.choice(pool) for c in keys}
            probes = {*keys, *EDGES, *rng.sample(CODE_POINTS, 1000)}
            probes |= {c ^ 1 for c in keys} - set(range(0xD800, 0xE000))
            texts = [f"x{chr(c)}{chr(c)}é" for c in probes]
            expected = [
                "x{0}{0}{1}".format(
                    images.get(c, chr(c)), images.get(0xE9, "é")
                ).replace("x", images.get(ord("x"), "x"), 1)
                for c in probes
            ]
            assert apply(images, texts) == expected

    def test_nul(self):
        assert apply({0: ""}, ["a\0b\0", "\0"]) == ["ab", ""]
        assert apply({0: "zero"}, ["a\0b"]) == ["azerob"]
        assert apply({ord("a"): "b"}, ["a\0a"]) == ["b\0b"]

    def test_longest_image(self):
        assert apply({97: "z" * 63}, ["ab"]) == ["z" * 63 + "b"]

    @pytest.mark.parametrize("image", ["z" * 64, "é" * 32, "日" * 22])
    def test_longer_images_are_refused(self, image):
        with pytest.raises(ValueError, match=r"at most 63 bytes.*U\+0061"):
            compile_character_map({97: image})

    def test_same_map_gives_same_bytes(self):
        images = Normalization().code_point_map()
        assert compile_character_map(images) == compile_character_map(dict(images))

    def test_offsets_lead_to_the_first_byte(self):
        run = normalizer({0xE9: "e", 0x65E5: " 日 ", 0xAD: ""})
        text = "aé\u00ad日b"
        normalized, origins = run.normalize_with_offsets([text])
        assert normalized.numpy()[0].decode() == "ae 日 b"
        assert origins.to_list()[0][:3] == [0, 1, 5]
        assert origins.to_list()[0][-2:] == [8, 9]

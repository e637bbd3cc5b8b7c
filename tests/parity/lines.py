"""Real text, and where ids differ from the reference's."""

import functools
import itertools

import numpy as np
import tensorflow as tf

from tests.paths import DATA


@functools.cache
def real_lines():
    paths = sorted((DATA / "multilingual_lines").glob("*.txt"))
    paths += [DATA / "wikitext2" / "valid.txt", DATA / "glue" / "SST-2" / "dev.tsv"]
    texts = (path.read_text(encoding="utf-8").split("\n") for path in paths)
    lines = list(itertools.chain.from_iterable(texts))
    assert len(lines) >= 10_000
    return lines


@functools.cache
def characters_in_words():
    code_points = (*range(0xD800), *range(0xE000, 0x30000), *range(0xE0000, 0xE0200))
    return [f"go{chr(c)}ing" for c in code_points]


def flat(rows, dtype=np.int64):
    return np.fromiter(itertools.chain.from_iterable(rows), dtype)


def differing(tokenizer, encodings, texts):
    """The texts whose ids or offsets are not the reference's."""
    ids, starts, ends = tokenizer.tokenize_with_offsets(texts)
    plain = tokenizer(tf.constant(texts))
    np.testing.assert_array_equal(plain.flat_values, ids.flat_values)
    np.testing.assert_array_equal(plain.row_splits, ids.row_splits)
    spans = flat(itertools.chain.from_iterable(e.offsets for e in encodings))
    expected = (flat(e.ids for e in encodings), spans[::2], spans[1::2])
    lengths = [len(e) for e in encodings]
    values = [x.flat_values.numpy() for x in (ids, starts, ends)]
    if np.array_equal(lengths, ids.row_lengths()) and all(
        map(np.array_equal, values, expected)
    ):
        return []
    rows = zip(*(x.to_list() for x in (ids, starts, ends)), strict=True)
    return [
        text
        for text, encoding, (row, first, last) in zip(
            texts, encodings, rows, strict=True
        )
        if encoding.ids != row
        or encoding.offsets != list(zip(first, last, strict=True))
    ]

"""Rows of pretraining data from a chunk of text.

Rows are first sampled as positions in the chunk's tokens (`segments`). Then the tokens
of a whole block of rows are gathered, masked and serialized at once.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.pretraining.data import segments
from keras_bert_lite.pretraining.data.corpus import Chunk, documents, splitter
from keras_bert_lite.pretraining.data.examples import (
    Features,
    Padded,
    padded,
    serialize,
)
from keras_bert_lite.pretraining.data.masking import Masking
from keras_bert_lite.pretraining.data.recipe import Recipe
from keras_bert_lite.pretraining.data.segments import Document, Pair, Span

SENTENCES = 8192  # tokenized at once
BLOCK = 2048  # rows gathered, masked and serialized at once

PAIRS: dict[str, Callable[..., Iterator[Pair]]] = {
    "next_sentence": segments.next_sentence_pairs,
    "sentence_order": segments.sentence_order_pairs,
}


class Rows(NamedTuple):
    """The rows of a chunk as serialized `tf.train.Example`s, and their token count."""

    examples: list[bytes]
    tokens: int  # special tokens included


class Text(NamedTuple):
    """The tokens of a chunk and the positions of its documents in them."""

    ids: np.ndarray  # (n + 2,) int32; the last two are [CLS] and [SEP]
    documents: list[Document]


def make_rows(chunk: Chunk, number: int, recipe: Recipe) -> Rows:
    """Makes the rows of a chunk; the same arguments always give the same rows.

    Args:
        chunk: A chunk from `read_chunks`.
        number: Its index, from 0.
        recipe: How to make the rows.

    Raises:
        ValueError: If the text is not UTF-8.
    """
    rng = random.Random(f"{recipe.seed} {number}")
    text = _tokenized(chunk, recipe)
    rows: list = []
    for _ in range(recipe.repeats):
        new = _drawn(text, recipe, rng)
        rng.shuffle(new)
        rows += new
    masking = None
    if recipe.masking is not None:
        masking = recipe.make_masking(**recipe.masking)
    made, tokens = [], 0
    for begin in range(0, len(rows), BLOCK):
        features = _features(rows[begin : begin + BLOCK], text, recipe)
        if masking is not None:
            seed = tf.constant([rng.getrandbits(31), begin])
            features = _masked(features, masking, seed)
        tokens += int(features["token_ids"].counts.sum())
        made += serialize(features)
    return Rows(made, tokens)


def _tokenized(chunk: Chunk, recipe: Recipe) -> Text:
    texts = list(documents(chunk, splitter(recipe.sentences)))
    ids, lengths = _tokenize([x for document in texts for x in document], recipe)
    indices = np.concatenate([[0], np.cumsum(lengths)])  # sentence boundaries
    ends = itertools.accumulate(map(len, texts), initial=0)
    # `unique` drops sentences without tokens.
    made = [np.unique(indices[x : y + 1]).tolist() for x, y in itertools.pairwise(ends)]
    return Text(ids, [document for document in made if len(document) > 1])


def _tokenize(
    sentences: Sequence[str], recipe: Recipe
) -> tuple[np.ndarray, np.ndarray]:
    """Returns all ids in a row, then [CLS] and [SEP]; and each sentence's length."""
    tokenizer = recipe.preprocessor.tokenizer
    parts, lengths = [], [np.zeros(0, np.int64)]
    for begin in range(0, len(sentences), SENTENCES):
        ragged = tokenizer(tf.constant(sentences[begin : begin + SENTENCES]))
        parts.append(ragged.values.numpy())
        lengths.append(ragged.row_lengths().numpy())
    special = np.array([tokenizer.cls_id, tokenizer.sep_id], np.int32)
    return np.concatenate([*parts, special]), np.concatenate(lengths)


def _drawn(text: Text, recipe: Recipe, rng: random.Random) -> list:
    """Samples the contents of rows; each is a `Pair` or a list of spans."""
    arguments = (text.documents, recipe.room, recipe.short_share, rng)
    if recipe.has_pairs:
        return list(PAIRS[recipe.objective](*arguments))
    spans = list(segments.full_sentences(*arguments, fill=recipe.pack))
    if not recipe.pack:
        return [[span] for span in spans]
    # Each segment has two special tokens.
    sizes = [2 + end - begin for begin, end in spans]
    rows = segments.packed(sizes, recipe.sequence_length)
    return [[spans[i] for i in row] for row in rows]


def _features(rows: Sequence, text: Text, recipe: Recipe) -> Features:
    """Gathers the tokens of rows."""
    separators = recipe.preprocessor.num_separators
    if recipe.has_pairs:
        first, second, label = zip(*rows, strict=True)
        lengths, flat = _with_special([first, second], text, separators)
        second_begins = 1 + np.diff(first)[:, 0] + separators
        one = np.ones(len(rows), np.int32)
        features = {"second": padded(second_begins, one)}
        features["label"] = padded(np.array(label), one)
    else:
        numbers = np.array([len(row) for row in rows])  # of segments
        spans = list(itertools.chain.from_iterable(rows))
        sizes, flat = _with_special([spans], text, separators)
        lengths = np.add.reduceat(sizes, np.cumsum(numbers) - numbers)
        features = {"lengths": padded(sizes, numbers)} if recipe.pack else {}
    features["token_ids"] = padded(flat, lengths, recipe.sequence_length)
    return features


def _with_special(
    texts: Iterable[Sequence[Span]], text: Text, separators: int
) -> tuple[np.ndarray, np.ndarray]:
    """Adds special tokens: `[CLS] a [SEP]`, or `[CLS] a [SEP] b [SEP]` for pairs.

    Args:
        texts: The spans of all first texts and, for pairs, of all second texts.
        text: The tokens that the spans refer to.
        separators: How many `[SEP]` go between two texts; RoBERTa has two.

    Returns:
        The length of each row, and the concatenated ids of all rows.
    """
    first, *rest = (np.array(spans) for spans in texts)
    end = len(text.ids)
    cls, sep = (np.broadcast_to([end - i, end - i + 1], first.shape) for i in (2, 1))
    pieces = [cls, first]
    for spans in rest:
        pieces += [*([sep] * separators), spans]
    begins, ends = np.stack([*pieces, sep], 1).transpose(2, 0, 1)
    sizes = ends - begins
    before = np.cumsum(sizes).reshape(sizes.shape) - sizes
    indices = np.repeat((begins - before).ravel(), sizes.ravel())
    return sizes.sum(1), text.ids[indices + np.arange(len(indices))]


def _masked(features: Features, masking: Masking, seed: tf.Tensor) -> Features:
    """Chooses the masked tokens of rows."""
    ids, counts = features["token_ids"]
    made = masking(tf.constant(ids), tf.sequence_mask(counts, ids.shape[1]), seed)
    values = {name: value.numpy() for name, value in made.items()}
    chosen = values["masked_weights"].sum(1).astype(np.int32)
    return {
        **features,
        "token_ids": Padded(values["token_ids"], counts),
        "masked_positions": Padded(values["masked_positions"], chosen),
        "masked_ids": Padded(values["masked_ids"], chosen),
    }

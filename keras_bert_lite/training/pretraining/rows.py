"""From a chunk of text to serialized rows."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert_lite.text.corpus import Chunk, documents, split_sentences
from keras_bert_lite.training.pretraining import segments
from keras_bert_lite.training.pretraining.recipe import Recipe
from keras_bert_lite.training.pretraining.segments import Document, Pair

BATCH = 1024  # sentences that are tokenized, rows that are masked, together

Features = dict[str, Any]  # lists or arrays of integers
PAIRS: dict[str, Callable[..., Iterator[Pair]]] = {
    "next_sentence": segments.next_sentence_pairs,
    "sentence_order": segments.sentence_order_pairs,
}


class Rows(NamedTuple):
    """The rows of a chunk, serialized `tf.train.Example`s, and their tokens."""

    examples: list[bytes]
    tokens: int  # special tokens included


def make_rows(chunk: Chunk, number: int, recipe: Recipe) -> Rows:
    """Makes the rows of a chunk, the same for the same chunk, number and recipe.

    Args:
        chunk: One of those of `read_chunks`.
        number: Which one it is, from 0 on.
        recipe: What to make.

    Raises:
        ValueError: If the text is not UTF-8.
    """
    rng = np.random.default_rng([recipe.seed, number])
    tokenized = _tokenized(chunk, recipe)
    rows: list[Features] = []
    for _ in range(recipe.repeats):
        new = list(_features(tokenized, recipe, rng)) if tokenized else []
        rows += [new[i] for i in rng.permutation(len(new))]
    if recipe.masking is not None:
        rows = list(_masked(rows, recipe, int(rng.integers(2**31))))
    tokens = sum(len(row["token_ids"]) for row in rows)
    return Rows([_serialized(row) for row in rows], tokens)


def _tokenized(chunk: Chunk, recipe: Recipe) -> list[Document]:
    split = split_sentences if recipe.sentences == "split" else None
    texts = list(documents(chunk, split))
    sentences = [sentence for document in texts for sentence in document]
    ids, lengths = _tokenize(sentences, recipe)
    ends = np.cumsum([0, *map(len, texts)])
    token_ends = np.concatenate([[0], np.cumsum(lengths)])
    made = []
    for first, last in itertools.pairwise(ends):
        begin, end = token_ends[first], token_ends[last]
        filled = lengths[first:last] > 0
        if end > begin:
            within = token_ends[first + 1 : last + 1][filled] - begin
            made.append(Document(ids[begin:end], within))
    return made


def _tokenize(
    sentences: Sequence[str], recipe: Recipe
) -> tuple[np.ndarray, np.ndarray]:
    """All ids in a row, and how many each sentence has."""
    parts = [np.zeros(0, np.int32)]
    lengths = [np.zeros(0, np.int64)]
    for begin in range(0, len(sentences), BATCH):
        texts = tf.constant(sentences[begin : begin + BATCH])
        ragged = recipe.preprocessor.tokenizer(texts)
        parts.append(ragged.values.numpy())
        lengths.append(ragged.row_lengths().numpy())
    return np.concatenate(parts), np.concatenate(lengths)


def _features(
    tokenized: Sequence[Document], recipe: Recipe, rng: np.random.Generator
) -> Iterator[Features]:
    arguments = (tokenized, recipe.room, recipe.short_share, rng)
    if recipe.has_pairs:
        for pair in PAIRS[recipe.objective](*arguments):
            yield _pair_features(pair, recipe)
        return
    texts = list(segments.full_sentences(*arguments))
    wrap = functools.partial(_with_special, recipe=recipe)
    if not recipe.pack:
        yield from ({"token_ids": wrap([text])} for text in texts)
        return
    # Each segment brings two special tokens along.
    room = recipe.sequence_length
    for row in segments.packed([wrap([text]) for text in texts], room):
        yield {"token_ids": np.concatenate(row), "lengths": [len(x) for x in row]}


def _pair_features(pair: Pair, recipe: Recipe) -> Features:
    second = 1 + len(pair.first) + recipe.preprocessor.num_separators
    ids = _with_special([pair.first, pair.second], recipe)
    return {"token_ids": ids, "second": [second], "label": [pair.label]}


def _with_special(texts: Iterable[np.ndarray], recipe: Recipe) -> np.ndarray:
    """`[CLS] text [SEP]`, or `[CLS] text [SEP] text [SEP]`, RoBERTa's with two."""
    tokenizer = recipe.preprocessor.tokenizer
    between = [tokenizer.sep_id] * recipe.preprocessor.num_separators
    first, *rest = texts
    parts = [[tokenizer.cls_id], first]
    for text in rest:
        parts += [between, text]
    return np.concatenate([*parts, [tokenizer.sep_id]]).astype(np.int32)


def _masked(rows: list[Features], recipe: Recipe, seed: int) -> Iterator[Features]:
    """Chooses the masked tokens of the rows."""
    masking = recipe.make_masking(**(recipe.masking or {}))
    length = recipe.sequence_length
    for begin in range(0, len(rows), BATCH):
        batch = rows[begin : begin + BATCH]
        ids = tf.RaggedTensor.from_row_lengths(
            np.concatenate([row["token_ids"] for row in batch]),
            [len(row["token_ids"]) for row in batch],
        )
        dense = ids.to_tensor(
            recipe.preprocessor.tokenizer.pad_id, shape=[None, length]
        )
        mask = tf.sequence_mask(ids.row_lengths(), length)
        made = masking(dense, mask, tf.constant([seed, begin]))
        values = {name: value.numpy() for name, value in made.items()}
        for i, row in enumerate(batch):
            real = values["masked_weights"][i] > 0
            yield {
                **row,
                "token_ids": values["token_ids"][i, : len(row["token_ids"])],
                "masked_positions": values["masked_positions"][i][real],
                "masked_ids": values["masked_ids"][i][real],
            }


def _serialized(row: Features) -> bytes:
    features = {
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        for name, values in row.items()
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString(deterministic=True)

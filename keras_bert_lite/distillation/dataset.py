"""Sentences for an encoder and its teacher, aligned word by word."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import (
    check_choice,
    check_not_negative,
    check_positive,
    check_share,
)
from keras_bert_lite.distillation.augmentation import (
    second_text,
    with_replaced_words,
)
from keras_bert_lite.distillation.words import (
    MASK,
    PAIR,
    SECOND,
    TEACHER,
    WORDS,
)
from keras_bert_lite.pretraining.data.corpus import (
    documents,
    read_chunks,
    splitter,
)
from keras_bert_lite.pretraining.data.recipe import SENTENCES
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.options import mapped, without_tuning
from keras_bert_lite.training.data.readers.lines import Paths, as_paths

MIXED = 1 << 27  # minimum bytes of text whose sentences are shuffled together
READ = 1 << 22  # bytes of text read at a time


def word_distillation_dataset(
    text: Paths,
    preprocessor: Preprocessor,
    teacher_preprocessor: Preprocessor,
    batch_size: int,
    sentences: str = "lines",
    seed: int = 0,
    start: int = 0,
    pairs: bool = False,
    replaced: float = 0.0,
    argument: str = "text",
) -> tf.data.Dataset:
    """Makes an infinite data set of sentences for `word_distillation_model`.

    Words, including punctuation, are the units that both tokenizers split into
    pieces. So both must be WordPiece and normalize text in the same way. `[CLS]` and
    the words that neither tokenizer truncates are compared. The last word in a row
    of `sequence_length` tokens may be truncated, so it is left out.

    Args:
        text, sentences: As in `write_pretraining_data`.
        preprocessor: The student's preprocessor.
        teacher_preprocessor: The teacher's preprocessor.
        batch_size: Sentences (B) in a batch.
        seed: Seed for the order. The sentences of 128 MiB of text are held in memory
            and shuffled.
        start: The index of the first batch.
        pairs: Whether each sentence has a second text. It is the following sentence
            (possibly of the next document), or a copy with words left out, replaced
            by words of the following sentence, or moved.
        replaced: The largest share of a sentence's words that are replaced by random
            words of the teacher's vocabulary. Each sentence's share is drawn between
            0 and this.
        argument: The name of `text` in error messages.

    Returns:
        A `tf.data.Dataset` of dictionaries, the model's inputs. `word_mask` is as
        wide as `token_ids`, so that its shape follows `preprocessor.padding`.

    Raises:
        ValueError: If the tokenizers do not match, a preprocessor cuts texts into
            windows, there is no text, or an argument is out of range.
    """
    check_positive("batch_size", batch_size)
    check_not_negative("start", start)
    check_choice("sentences", sentences, SENTENCES)
    check_share("replaced", replaced)
    _check_alike(preprocessor, teacher_preprocessor)
    paths = as_paths(text, argument)
    _check_text(paths, sentences, argument)

    words = _whole_words(teacher_preprocessor)

    def read() -> Iterator[list[tuple[str, str]]]:
        found = _sentences(paths, sentences, seed, pairs, replaced, words)
        return _batches(itertools.islice(found, start * batch_size, None), batch_size)

    def inputs(texts: tf.Tensor) -> dict[str, tf.Tensor]:
        first, second = tf.unstack(texts, axis=1)
        made = _inputs(first, preprocessor, teacher_preprocessor)
        if pairs:
            made |= _with_prefix(PAIR, preprocessor((first, second)))
            made |= _with_prefix(SECOND, teacher_preprocessor(second))
        return made

    batches = tf.data.Dataset.from_generator(
        read, output_signature=tf.TensorSpec((batch_size, 2), tf.string)
    )
    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    batches = mapped(without_tuning(batches), inputs)
    return batches.prefetch(tf.data.AUTOTUNE).apply(endless)


def _check_alike(ours: Preprocessor, theirs: Preprocessor) -> None:
    strides = [x.stride for x in (ours, theirs)]
    if strides != [None, None]:
        raise ValueError(
            "`preprocessor` and `teacher_preprocessor` must make one row per text. "
            f"Received: stride={strides[0]} and {strides[1]}"
        )
    kinds = [type(x.tokenizer).__name__ for x in (ours, theirs)]
    found = [_splitting(x) for x in (ours, theirs)]
    if kinds != ["WordPieceTokenizer"] * 2 or found[0] != found[1]:
        raise ValueError(
            "`preprocessor` and `teacher_preprocessor` must have WordPiece tokenizers "
            f"of the same normalization. Received: {kinds[0]}, {found[0]}, and "
            f"{kinds[1]}, {found[1]}"
        )


def _splitting(preprocessor: Preprocessor) -> dict[str, Any]:
    """Returns the options that determine where a tokenizer's words begin."""
    config = preprocessor.tokenizer.get_config()
    if config.get("strip_accents") is None:
        config["strip_accents"] = config.get("lowercase")
    names = ("lowercase", "strip_accents", "split_cjk", "special_tokens_in_text")
    return {name: config.get(name) for name in (*names, "added_tokens")}


def _check_text(paths: list[Path], sentences: str, argument: str) -> None:
    split = splitter(sentences)
    chunks = read_chunks(paths, 1 << 16)
    if not any(next(documents(chunk, split), None) for chunk in chunks):
        raise ValueError(
            f"`{argument}` must hold text. Received: {list(map(str, paths))}"
        )


def _sentences(
    paths: list[Path],
    sentences: str,
    seed: int,
    pairs: bool,
    replaced: float,
    words: list[str],
) -> Iterator[tuple[str, str]]:
    """Yields shuffled sentences and second texts (empty without `pairs`) forever."""
    for epoch in itertools.count():
        for number, texts in enumerate(_read(paths, sentences)):
            rng = random.Random(f"{seed} {epoch} {number}")
            mixed = list(itertools.pairwise([*texts, *texts[:1]]))
            rng.shuffle(mixed)
            for sentence, following in mixed:
                text = with_replaced_words(sentence, words, replaced, rng)
                yield text, second_text(text, following, rng) if pairs else ""


def _whole_words(preprocessor: Preprocessor) -> list[str]:
    """Returns the pieces of a WordPiece vocabulary that are whole words."""
    return [x for x in preprocessor.tokenizer.get_vocabulary() if x.isalnum()]


def _read(paths: list[Path], sentences: str) -> Iterator[list[str]]:
    """Yields the sentences of `MIXED` bytes at a time, in their order."""
    split = splitter(sentences)
    texts: list[str] = []
    held = 0
    for chunk in read_chunks(paths, READ):
        texts += itertools.chain.from_iterable(documents(chunk, split))
        held += sum(len(part.data) for part in chunk)
        if held >= MIXED:
            yield texts
            texts, held = [], 0
    if texts:
        yield texts


def _batches(
    texts: Iterator[tuple[str, str]], size: int
) -> Iterator[list[tuple[str, str]]]:
    while batch := list(itertools.islice(texts, size)):
        yield batch


def _with_prefix(prefix: str, rows: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    return {prefix + key: value for key, value in rows.items()}


def _inputs(
    texts: tf.Tensor, preprocessor: Preprocessor, teacher_preprocessor: Preprocessor
) -> dict[str, tf.Tensor]:
    """Returns the model's inputs for a batch of texts `(B,)`."""
    inputs: dict[str, tf.Tensor] = {}
    counts, positions = [], {}
    for prefix, made_by in (("", preprocessor), (TEACHER, teacher_preprocessor)):
        rows = made_by(texts)
        inputs |= _with_prefix(prefix, rows)
        positions[prefix], count = _words(made_by, rows)
        counts.append(count)
    width = tf.shape(inputs["token_ids"])[1]
    inputs[MASK] = tf.sequence_mask(tf.minimum(*counts), width)
    for prefix, found in positions.items():
        wide = tf.pad(found.to_tensor(), [[0, 0], [0, width]])
        inputs[prefix + WORDS] = wide[:, :width]
    return inputs


def _words(
    preprocessor: Preprocessor, rows: dict[str, tf.Tensor]
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Returns the columns where words begin, and how many words are surely whole."""
    inside = preprocessor.tokenizer.continues_word(rows["token_ids"])
    begins = tf.logical_and(rows["padding_mask"], tf.logical_not(inside))
    columns = tf.range(tf.shape(begins)[1])
    columns = tf.broadcast_to(columns, tf.shape(begins))
    positions = tf.ragged.boolean_mask(columns, begins)
    tokens = tf.reduce_sum(tf.cast(rows["padding_mask"], positions.row_splits.dtype), 1)
    full = tokens == (preprocessor.sequence_length or -1)
    # The last word is [SEP]; the one before it may be truncated.
    return positions, positions.row_lengths() - 1 - tf.cast(full, tokens.dtype)

"""Training an encoder to see words as a larger one does."""

import itertools
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_bert_lite.config import check_choice, check_not_negative, check_positive
from keras_bert_lite.models.encoder import config_of
from keras_bert_lite.models.word_distillation import (
    MASK,
    TEACHER,
    WORDS,
    set_components,
    word_distillation_model,
)
from keras_bert_lite.text.corpus import documents, read_chunks, split_sentences
from keras_bert_lite.text.packing import Preprocessor
from keras_bert_lite.training.data.tuning import without_tuning
from keras_bert_lite.training.optimizer import adamw
from keras_bert_lite.training.pretraining.recipe import SENTENCES
from keras_bert_lite.training.pretraining.state import fit_from_state

MIXED = 1 << 25  # bytes of text whose sentences are mixed
SAMPLE = 512  # sentences that the teacher is reduced by

Texts = str | os.PathLike | Sequence[str | os.PathLike]


def word_distillation_dataset(
    text: Texts,
    preprocessor: Preprocessor,
    teacher_preprocessor: Preprocessor,
    batch_size: int,
    sentences: str = "lines",
    seed: int = 0,
    start: int = 0,
) -> tf.data.Dataset:
    """Reads sentences, for `word_distillation_model`, without end.

    Words are what both tokenizers split into pieces, punctuation too, so both
    must be WordPiece, and normalize alike. Beginning with `[CLS]`, the words that
    neither has truncated are compared.

    Args:
        text, sentences: As in `write_pretraining_data`.
        preprocessor: The student's.
        teacher_preprocessor: The teacher's.
        batch_size: Sentences (B) in a batch.
        seed: Of the order: sentences of 32 MiB of text are mixed.
        start: The number of the first batch.

    Returns:
        A `tf.data.Dataset` of dictionaries, the model's inputs.

    Raises:
        ValueError: If the tokenizers are not alike, there is no text, or an
            argument is out of its range.
    """
    check_positive("batch_size", batch_size)
    check_not_negative("start", start)
    check_choice("sentences", sentences, SENTENCES)
    _check_alike(preprocessor, teacher_preprocessor)
    paths = [Path(text)] if isinstance(text, (str, os.PathLike)) else map(Path, text)
    paths = list(paths)

    def read() -> Iterator[list[str]]:
        found = _sentences(paths, sentences, seed)
        return _batches(itertools.islice(found, start * batch_size, None), batch_size)

    def inputs(texts: tf.Tensor) -> dict[str, tf.Tensor]:
        return _inputs(texts, preprocessor, teacher_preprocessor)

    batches = tf.data.Dataset.from_generator(
        read, output_signature=tf.TensorSpec((batch_size,), tf.string)
    )
    inputs = tf.autograph.experimental.do_not_convert(inputs)
    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    batches = without_tuning(batches).map(inputs, num_parallel_calls=tf.data.AUTOTUNE)
    return batches.prefetch(tf.data.AUTOTUNE).apply(endless)


def distil_words(
    student: keras.Model,
    preprocessor: Preprocessor,
    teacher: keras.Model,
    teacher_preprocessor: Preprocessor,
    text: Texts,
    directory: str | os.PathLike,
    steps: int,
    batch_size: int = 64,
    learning_rate: float = 5e-4,
    save_every: int = 1000,
    validation: Texts | None = None,
    validation_steps: int = 20,
    sentences: str = "lines",
    seed: int = 0,
    callbacks: list[keras.callbacks.Callback] | None = None,
    verbose: str | int = "auto",
    **options: Any,
) -> keras.callbacks.History:
    """Trains an encoder to give words and texts the vectors that another gives them.

    Every word is a target, not 15 % of them, so that it learns from little text;
    and its vocabulary is its own. It is saved, and goes on, as `pretrain` does.

    Args:
        student: An encoder, with weights that are random or not; it is trained.
        preprocessor: Its preprocessor.
        teacher: An encoder, at least as wide; of a sentence encoder the student
            learns to be one, with the mean as pooling.
        teacher_preprocessor: Its preprocessor.
        text, sentences: As in `write_pretraining_data`.
        directory: Where the run is saved.
        steps: Updates in all.
        batch_size: Sentences (B) of a step.
        learning_rate, save_every, seed, callbacks, verbose: As in `pretrain`.
        validation: Text that is held out.
        validation_steps: Batches of it that are evaluated.
        **options: Of `adamw`.

    Returns:
        The history of `fit`: `loss` is that of `word_distillation_model`.

    Raises:
        ValueError: As `word_distillation_model` and `word_distillation_dataset`; or
            if `directory` holds a run of other settings.
    """
    check_positive("steps", steps)
    check_positive("validation_steps", validation_steps)
    model = word_distillation_model(student, teacher)

    def batches(text: Texts, size: int, start: int = 0) -> tf.data.Dataset:
        both = (preprocessor, teacher_preprocessor)
        return word_distillation_dataset(text, *both, size, sentences, seed, start)

    set_components(model, next(iter(batches(text, SAMPLE))))
    options = {"learning_rate": learning_rate, "warmup": 0.05, **options}
    model.compile(adamw(steps, **options))
    settings = {
        **{k: str(v) for k, v in options.items()},
        "student": config_of(student).to_dict(),
        "teacher": config_of(teacher).to_dict(),
        "batch_size": batch_size,
        "sentences": sentences,
        "seed": seed,
    }
    held_out = None if validation is None else batches(validation, batch_size)
    return fit_from_state(
        model,
        lambda start: batches(text, batch_size, start),
        directory,
        settings,
        steps,
        save_every,
        callbacks=callbacks or [],
        validation_data=held_out,
        validation_steps=None if held_out is None else validation_steps,
        verbose=verbose,
    )


def _check_alike(ours: Preprocessor, theirs: Preprocessor) -> None:
    names = ("lowercase", "strip_accents", "split_cjk")
    found = [
        {k: v for k, v in x.tokenizer.get_config().items() if k in names}
        for x in (ours, theirs)
    ]
    kinds = [type(x.tokenizer).__name__ for x in (ours, theirs)]
    if kinds != ["WordPieceTokenizer"] * 2 or found[0] != found[1]:
        raise ValueError(
            "`preprocessor` and `teacher_preprocessor` must have WordPiece tokenizers "
            f"of the same normalization. Received: {kinds[0]}, {found[0]}, and "
            f"{kinds[1]}, {found[1]}"
        )


def _sentences(paths: list[Path], sentences: str, seed: int) -> Iterator[str]:
    """Mixed sentences without end."""
    split = split_sentences if sentences == "split" else None
    for epoch in itertools.count():
        found = False
        for number, chunk in enumerate(read_chunks(paths, MIXED)):
            texts = [x for document in documents(chunk, split) for x in document]
            random.Random(f"{seed} {epoch} {number}").shuffle(texts)
            found = found or bool(texts)
            yield from texts
        if not found:
            raise ValueError(
                f"`text` must hold text. Received: {list(map(str, paths))}"
            )


def _batches(texts: Iterator[str], size: int) -> Iterator[list[str]]:
    while batch := list(itertools.islice(texts, size)):
        yield batch


def _inputs(
    texts: tf.Tensor, preprocessor: Preprocessor, teacher_preprocessor: Preprocessor
) -> dict[str, tf.Tensor]:
    """A batch `(B,)` as the model's inputs."""
    inputs: dict[str, tf.Tensor] = {}
    counts, places = [], {}
    for prefix, made_by in (("", preprocessor), (TEACHER, teacher_preprocessor)):
        rows = made_by(texts)
        inputs |= {prefix + key: value for key, value in rows.items()}
        places[prefix] = _word_places(made_by, rows)
        counts.append(places[prefix].row_lengths())
    # The last word is [SEP], or cut where one of the two is truncated.
    mask = tf.sequence_mask(tf.minimum(*counts) - 1)
    for prefix, found in places.items():
        inputs[prefix + WORDS] = found.to_tensor()[:, : tf.shape(mask)[1]]
    return {**inputs, MASK: mask}


def _word_places(
    preprocessor: Preprocessor, rows: dict[str, tf.Tensor]
) -> tf.RaggedTensor:
    """Where words begin: for each row the columns."""
    inside = preprocessor.tokenizer.continues_word(rows["token_ids"])
    begins = tf.logical_and(rows["padding_mask"], tf.logical_not(inside))
    columns = tf.range(tf.shape(begins)[1])
    columns = tf.broadcast_to(columns, tf.shape(begins))
    return tf.ragged.boolean_mask(columns, begins)

"""From text and a large encoder to a small one."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import keras

from keras_bert_lite.checkpoints.hugging_face.saving import DTYPES, save_hugging_face
from keras_bert_lite.checkpoints.load import load_encoder, load_preprocessor
from keras_bert_lite.checks import check_choice, check_rate
from keras_bert_lite.distillation.token_vectors import distill_token_vectors
from keras_bert_lite.distillation.words import share_segments
from keras_bert_lite.models.encoder_model import config_of, encoder
from keras_bert_lite.pretraining.text_run import (
    MODEL,
    Config,
    begin,
    check_one_start,
    new_encoder,
)
from keras_bert_lite.tasks.sentence_embedding import sentence_encoder
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.readers.lines import Paths
from keras_bert_lite.training.optimizers import Schedule
from keras_bert_lite.training.progress import progress_of


def distill_encoder(
    text: Paths,
    directory: str | os.PathLike,
    steps: int,
    teacher: str | os.PathLike,
    preprocessor: str | os.PathLike,
    encoder_config: Config | None = None,
    model: str | os.PathLike | None = None,
    *,
    sequence_length: int = 128,
    sentences: str = "lines",
    pairs: bool = False,
    layer_pairs: Sequence[tuple[int, int]] | None = None,
    replaced: float = 0.0,
    batch_size: int = 64,
    learning_rate: float = 5e-4,
    save_every: int = 1000,
    validation: Paths | None = None,
    dtype: str = "float32",
    dropout: float | None = None,
    seed: int = 0,
    deterministic: bool = False,
    verbose: str | int = "auto",
    **schedule: Unpack[Schedule],
) -> Path:
    """Trains a small encoder to match a large one's vectors of words and texts.

    It loads teacher and student, trains by `distill_token_vectors`, which takes
    models, and writes the student as a sentence encoder with mean pooling. Called
    again with the same arguments after an interruption, it resumes from the last
    save.

    Args:
        text: Text files, as in `write_pretraining_data`.
        directory: Where the run is saved; the trained student is in its folder
            `model`.
        steps: Total number of batches, a multiple of `save_every`.
        teacher: The checkpoint of an encoder at least as wide as the student.
        preprocessor: A checkpoint, or a directory, with the student's tokenizer.
        encoder_config: The student to train from random weights: an `EncoderConfig`,
            the name of a published one, or a JSON file of its fields. Its
            `vocabulary_size` is that of the tokenizer, and it has no pooler.
        model: Or the checkpoint of the student, to train further.
        sequence_length: Tokens per text (S), for student and teacher.
        sentences: As in `write_pretraining_data`.
        pairs: Whether the student also reads two texts in a row. If not, a student
            with random weights gets the embedding of the first segment for both.
        layer_pairs: Layers of student and teacher that must match too, as `[[2, 4]]`;
            see `distill_token_vectors`.
        replaced: The largest share of a sentence's words that are replaced by random
            words of the teacher's vocabulary.
        batch_size: Sentences (B) per step.
        learning_rate: The peak rate, after the warm-up.
        save_every: Steps between saves.
        validation: Held-out text files, evaluated at each save.
        dtype: Data type of the saved weights: `"float32"`, `"float16"` or
            `"bfloat16"`.
        dropout: Dropout rates in the saved configuration; `None`: those of the
            student in this training.
        seed, deterministic, verbose: As in `pretraining.pretrain_encoder`.
        **schedule: `warmup` (0.05), `cooldown`, `weight_decay` (0.01) and `accumulate`
            of `bert_adamw`.

    Returns:
        The directory of the student with its tokenizer, for `load_encoder`,
        `load_model`, transformers and sentence-transformers.

    Raises:
        FileNotFoundError: If there is no text, or no file `encoder_config`.
        ValueError: If an argument is out of range, neither or both of
            `encoder_config` and `model` are given, the tokenizers do not match, or
            `directory` holds a run with other settings.

    Example:

    >>> with open("clouds.txt", "w") as file:
    ...     print("It rains.\\nIt pours.\\n\\nA fine day.\\nLovely.", file=file)
    >>> path = kbl.distillation.distill_encoder(
    ...     "clouds.txt", "student", 2, "bert_mini_books", "bert_mini_books",
    ...     "bert_tiny_uncased", batch_size=2, verbose=0,
    ... )
    >>> kbl.load_model(path).output["sentence_embedding"].shape
    (None, 128)
    """
    check_one_start(encoder_config, model)
    check_choice("dtype", dtype, tuple(DTYPES))
    if dropout is not None:
        check_rate("dropout", dropout)
    begin(seed, deterministic)
    ours = load_preprocessor(preprocessor, sequence_length=sequence_length)
    student = _student(encoder_config, model, ours)
    distill_token_vectors(
        student,
        ours,
        load_encoder(teacher),
        load_preprocessor(teacher, sequence_length=sequence_length),
        text,
        directory,
        steps,
        batch_size,
        learning_rate,
        save_every,
        validation,
        sentences=sentences,
        pairs=pairs,
        layer_pairs=layer_pairs or (),
        replaced=replaced,
        seed=seed,
        callbacks=progress_of(steps, save_every, verbose),
        verbose=verbose,
        **schedule,
    )
    if encoder_config is not None and not pairs:
        share_segments(student)
    if dropout is not None:
        student = _with_dropout(student, dropout)
    path = Path(directory) / MODEL
    save_hugging_face(sentence_encoder(student, pooling="mean"), ours, path, dtype)
    return path


def _student(
    config: Config | None,
    model: str | os.PathLike | None,
    preprocessor: Preprocessor,
) -> keras.Model:
    if config is None:
        assert model is not None  # one of them is given
        return load_encoder(model)
    return new_encoder(config, preprocessor, pooling=None)


def _with_dropout(student: keras.Model, rate: float) -> keras.Model:
    """Returns an encoder with the same weights and new dropout rates."""
    config = config_of(student).replace(dropout=rate, attention_dropout=rate)
    changed = encoder(config)
    changed.set_weights(student.get_weights())
    return changed

"""Training an encoder to see words as a larger one does."""

import functools
import hashlib
import json
import os
from typing import Any

import keras

from keras_bert_lite.checks import check_positive
from keras_bert_lite.models.compatibility import check_fits
from keras_bert_lite.models.encoder_model import config_of
from keras_bert_lite.models.word_distillation import (
    set_components,
    word_distillation_model,
)
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.text_files import identities
from keras_bert_lite.training.data.lines import Paths, as_paths
from keras_bert_lite.training.distillation.dataset import word_distillation_dataset
from keras_bert_lite.training.optimizers import bert_adamw
from keras_bert_lite.training.pretraining.data.recipe import nameless
from keras_bert_lite.training.pretraining.state import check_steps, fit_from_state

SAMPLE = 8  # batches that the teacher is reduced by


def distill_token_vectors(
    student: keras.Model,
    preprocessor: Preprocessor,
    teacher: keras.Model,
    teacher_preprocessor: Preprocessor,
    text: Paths,
    directory: str | os.PathLike,
    steps: int,
    batch_size: int = 64,
    learning_rate: float = 5e-4,
    save_every: int = 1000,
    validation: Paths | None = None,
    validation_steps: int = 20,
    sentences: str = "lines",
    pairs: bool = False,
    seed: int = 0,
    callbacks: list[keras.callbacks.Callback] | None = None,
    verbose: str | int = "auto",
    **options: Any,
) -> keras.callbacks.History:
    """Trains an encoder to give words and texts the vectors that another gives them.

    Every word is a target, not 15 % of them, so that it learns from little text;
    and its vocabulary is its own. It is saved, and goes on, as `pretrain` does.
    Without `pairs` it sees single texts only: of the segments' embeddings the first
    alone is trained, and it does not learn to compare two texts in a row.

    Args:
        student: An encoder, with weights that are random or not; it is trained.
        preprocessor: Its preprocessor.
        teacher: An encoder, at least as wide; of a sentence encoder the student
            learns to be one, with the mean as pooling. It is made untrainable.
        teacher_preprocessor: Its preprocessor.
        text, sentences: As in `write_pretraining_data`.
        directory: Where the run is saved.
        steps: Batches in all, a multiple of `save_every`; an update each, unless
            they accumulate.
        batch_size: Sentences (B) of a step.
        learning_rate, save_every, seed, callbacks, verbose: As in `pretrain`.
        validation: Text that is held out.
        validation_steps: Batches of it that are evaluated.
        pairs: Whether it also reads two texts in a row, and learns to tell how
            alike the teacher finds them; see `word_distillation_model`. Second
            texts are those of `word_distillation_dataset`.
        **options: Of `bert_adamw`.

    Returns:
        The history of `fit`: `loss` is that of `word_distillation_model`.

    Raises:
        ValueError: As `word_distillation_model` and `word_distillation_dataset`; or
            if `directory` holds a run of other settings.
    """
    check_steps(steps, save_every)
    check_positive("validation_steps", validation_steps)
    check_fits(student, preprocessor, "student")
    check_fits(teacher, teacher_preprocessor, "teacher")
    model = word_distillation_model(student, teacher, pairs)

    batches = functools.partial(
        word_distillation_dataset,
        preprocessor=preprocessor,
        teacher_preprocessor=teacher_preprocessor,
        batch_size=batch_size,
        sentences=sentences,
        seed=seed,
        pairs=pairs,
    )
    held_out = None
    if validation is not None:
        held_out = batches(validation, argument="validation").take(validation_steps)
    set_components(model, batches(text).take(SAMPLE))
    options = {"learning_rate": learning_rate, "warmup": 0.05, **options}
    model.compile(bert_adamw(steps, **options))
    settings = {
        "student": config_of(student).to_dict(),
        "teacher": config_of(teacher).to_dict(),
        "tokens": [_about(x) for x in (preprocessor, teacher_preprocessor)],
        "text": identities(as_paths(text)),
        "batch_size": batch_size,
        "sentences": sentences,
        "pairs": pairs,
        "seed": seed,
    }
    return fit_from_state(
        model,
        lambda start: batches(text, start=start),
        directory,
        settings,
        steps,
        save_every,
        callbacks=callbacks or [],
        validation_data=held_out,
        verbose=verbose,
    )


def _about(preprocessor: Preprocessor) -> str:
    """Tells one preprocessor from another."""
    config = nameless(keras.saving.serialize_keras_object(preprocessor))
    return hashlib.sha256(json.dumps(config).encode()).hexdigest()

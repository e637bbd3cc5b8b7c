"""Training an encoder to reproduce the word vectors of a larger one."""

import functools
import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

import keras

from keras_bert_lite.checks import check_positive
from keras_bert_lite.distillation.dataset import word_distillation_dataset
from keras_bert_lite.distillation.words import (
    set_components,
    word_distillation_model,
)
from keras_bert_lite.models.encoder_model import config_of
from keras_bert_lite.tasks.compatibility import check_fits
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.text_files import identities
from keras_bert_lite.training.data.readers.lines import Paths, as_paths
from keras_bert_lite.training.optimizers import bert_adamw
from keras_bert_lite.training.resume.settings import nameless
from keras_bert_lite.training.resume.state import check_steps, fit_from_state

SAMPLE = 8  # batches used to compute the teacher's principal components


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
    layer_pairs: Sequence[tuple[int, int]] = (),
    replaced: float = 0.0,
    seed: int = 0,
    callbacks: list[keras.callbacks.Callback] | None = None,
    verbose: str | int = "auto",
    **options: Any,
) -> keras.callbacks.History:
    """Trains an encoder to reproduce a teacher's vectors of words and texts.

    Every word is a target, not just 15 % of them, so little text is enough. The
    student may have its own vocabulary. Runs are saved and resumed as in `pretrain`.
    Without `pairs` the student sees single texts only: the second segment embedding
    is not trained, and the student does not learn to compare two texts in a row.

    Args:
        student: The encoder to train, with random or pretrained weights.
        preprocessor: The student's preprocessor.
        teacher: An encoder at least as wide as the student; it is made untrainable.
            If it is a sentence encoder, the student becomes one with mean pooling.
        teacher_preprocessor: The teacher's preprocessor.
        text, sentences: As in `write_pretraining_data`.
        directory: Where the run is saved.
        steps: Total number of batches, a multiple of `save_every`. Each batch is
            an update unless gradients are accumulated.
        batch_size: Sentences (B) per step.
        learning_rate, save_every, seed, callbacks, verbose: As in `pretrain`.
        validation: Held-out text.
        validation_steps: How many held-out batches are evaluated.
        pairs: Whether the student also reads two texts in a row and learns how
            similar the teacher finds them; see `word_distillation_model`. For the
            second texts see `word_distillation_dataset`.
        layer_pairs: Layers that must match too; see `word_distillation_model`.
        replaced: The largest share of a sentence's words that are replaced by random
            words of the teacher's vocabulary, so that the student also learns words
            that the text lacks. The held-out text is left as it is.
        **options: Options of `bert_adamw`.

    Returns:
        The history of `fit`, with the `loss` of `word_distillation_model`.

    Raises:
        ValueError: As `word_distillation_model` and `word_distillation_dataset`; or
            if `directory` holds a run with other settings.
    """
    check_steps(steps, save_every)
    check_positive("validation_steps", validation_steps)
    check_fits(student, preprocessor, "student")
    check_fits(teacher, teacher_preprocessor, "teacher")
    model = word_distillation_model(student, teacher, pairs, layer_pairs)

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
    training = functools.partial(batches, text, replaced=replaced)
    set_components(model, training().take(SAMPLE))
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
        "layer_pairs": [list(x) for x in layer_pairs],
        "replaced": replaced,
        "seed": seed,
    }
    return fit_from_state(
        model,
        lambda start: training(start=start),
        directory,
        settings,
        steps,
        save_every,
        callbacks=callbacks or [],
        validation_data=held_out,
        verbose=verbose,
    )


def _about(preprocessor: Preprocessor) -> str:
    """Returns a digest of a preprocessor's configuration."""
    config = nameless(keras.saving.serialize_keras_object(preprocessor))
    return hashlib.sha256(json.dumps(config).encode()).hexdigest()

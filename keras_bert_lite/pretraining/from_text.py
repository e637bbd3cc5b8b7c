"""From pretraining data to an encoder."""

import contextlib
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

import keras

from keras_bert_lite.checkpoints.hugging_face.saving import save_hugging_face
from keras_bert_lite.checkpoints.load import load_model
from keras_bert_lite.checks import check_choice, check_installed
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from keras_bert_lite.pretraining.data.dataset import read_recipe
from keras_bert_lite.pretraining.data.recipe import Recipe
from keras_bert_lite.pretraining.run import pretrain
from keras_bert_lite.pretraining.text_run import (
    MODEL,
    Config,
    begin,
    check_one_start,
    new_encoder,
)
from keras_bert_lite.tasks.masked_lm import masked_lm
from keras_bert_lite.tasks.pretraining.bert import (
    bert_pretrainer,
    masked_positions_model,
)
from keras_bert_lite.tasks.pretraining.electra import (
    electra_discriminator,
    electra_pretrainer,
)
from keras_bert_lite.training.gradient_checkpointing import set_gradient_checkpointing
from keras_bert_lite.training.optimizers import Schedule
from keras_bert_lite.training.progress import progress_of

PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16")


def pretrain_encoder(
    data: str | os.PathLike,
    directory: str | os.PathLike,
    steps: int,
    encoder_config: Config | None = None,
    model: str | os.PathLike | None = None,
    *,
    replaced_tokens: bool = False,
    masking: dict[str, Any] | None = None,
    batch_size: int = 64,
    learning_rate: float = 1e-4,
    optimizer: str = "adamw",
    save_every: int = 1000,
    validation: str | os.PathLike | None = None,
    precision: str | None = None,
    gradient_checkpointing: bool = False,
    tensorboard: str | os.PathLike | None = None,
    seed: int = 0,
    deterministic: bool = False,
    verbose: str | int = "auto",
    **schedule: Unpack[Schedule],
) -> Path:
    """Pretrains an encoder on data written by `write_pretraining_data`.

    It builds the model that fits the data, trains it by `pretrain`, which takes a
    model and has more options, and writes the result as a checkpoint. Called again
    with the same arguments after an interruption, it resumes from the last save.

    The model is trained on masked words; if the data have pairs and the encoder has a
    pooler, on pairs as well; with `replaced_tokens`, on replaced tokens.

    Args:
        data: The directory of the data.
        directory: Where the run is saved; the trained model is in its folder
            `model`.
        steps: Total number of batches, a multiple of `save_every`. Each batch is
            an update unless gradients are accumulated.
        encoder_config: The encoder to train from random weights: an `EncoderConfig`,
            the name of a published one, or a JSON file of its fields. Its
            `vocabulary_size` is that of the data's tokenizer.
        model: Or the checkpoint whose weights are trained further; see `load_model`.
        replaced_tokens: Whether to train like ELECTRA, by replaced tokens.
        masking: The options of `Masking`, such as `{"rate": 0.3}` (ModernBERT). `None`:
            see `pretrain`.
        batch_size: Rows (B) per step.
        learning_rate: The peak rate, after the warm-up.
        optimizer: `"adamw"`, or `"lamb"` for large batches.
        save_every: Steps between saves.
        validation: A directory of held-out data, evaluated at each save.
        precision: `"float32"`, `"mixed_float16"` or `"mixed_bfloat16"`; `None`:
            Keras's current policy.
        gradient_checkpointing: See `tuning.set_gradient_checkpointing`.
        tensorboard: Directory of logs for TensorBoard.
        seed: Seed of the weights, the order of the data and the masks, set for the
            whole process.
        deterministic: Whether only deterministic operations of TensorFlow are used,
            from here on in this process; on a CPU a resumed run then has the same
            bits as one that was not interrupted.
        verbose: 1, or `"auto"`: one progress bar for the run; 2: a line per save;
            0: nothing.
        **schedule: `warmup` (0.01), `cooldown`, `weight_decay` (0.01) and `accumulate`
            of `bert_adamw`.

    Returns:
        The directory of the trained model with its heads and tokenizer, for
        `load_encoder`, `load_model` and transformers. Of a model with
        `replaced_tokens`, that is the discriminator, or its encoder if transformers
        has no such head for the family.

    Raises:
        FileNotFoundError: If there are no data, or no file `encoder_config`.
        ValueError: If an argument is out of range, neither or both of
            `encoder_config` and `model` are given, the data do not fit the model,
            or `directory` holds a run with other settings.
        ImportError: If `tensorboard` is given and not installed.

    Example:

    >>> with open("rain.txt", "w") as file:
    ...     print("It rains.\\nIt pours.\\n\\nA fine day.\\nLovely.", file=file)
    >>> done = kbl.pretraining.write_pretraining_data(
    ...     "rain.txt", "rain", "bert_mini_books", show_progress=False
    ... )
    >>> path = kbl.pretraining.pretrain_encoder(
    ...     "rain", "rain_run", 2, "bert_tiny_uncased", batch_size=2, verbose=0
    ... )
    >>> sorted(kbl.load_model(path).output)
    ['prediction_logits', 'seq_relationship_logits']
    """
    check_one_start(encoder_config, model)
    if precision is not None:
        check_choice("precision", precision, PRECISIONS)
    logs = _tensorboard(tensorboard)
    begin(seed, deterministic)
    recipe = read_recipe(data, "data")
    with _policy(precision):
        full = _model(encoder_config, model, recipe, replaced_tokens)
        trained = (
            electra_pretrainer(full, packed=recipe.pack, seed=seed)
            if replaced_tokens
            else masked_positions_model(full, packed=recipe.pack)
        )
        if gradient_checkpointing:
            set_gradient_checkpointing(trained)
        pretrain(
            trained,
            data,
            directory,
            steps,
            batch_size,
            learning_rate,
            save_every,
            validation,
            masking=None if masking is None else recipe.make_masking(**masking),
            optimizer=optimizer,
            seed=seed,
            callbacks=[*logs, *progress_of(steps, save_every, verbose)],
            verbose=verbose,
            **schedule,
        )
        result = _discriminator(trained) if replaced_tokens else full
        path = Path(directory) / MODEL
        save_hugging_face(result, recipe.preprocessor, path)
    return path


def _tensorboard(directory: str | os.PathLike | None) -> list[keras.callbacks.Callback]:
    if directory is None:
        return []
    check_installed("tensorboard", extra="tensorboard")
    return [keras.callbacks.TensorBoard(directory)]


@contextlib.contextmanager
def _policy(precision: str | None) -> Iterator[None]:
    """Sets Keras's policy, and the former one in the end."""
    before = keras.config.dtype_policy()
    if precision is not None:
        keras.config.set_dtype_policy(precision)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def _model(
    config: Config | None,
    model: str | os.PathLike | None,
    recipe: Recipe,
    replaced_tokens: bool,
) -> keras.Model:
    """Loads the model, or makes an encoder with a head for each of the data's targets.

    The heads of replaced tokens are `electra_pretrainer`'s.
    """
    if config is None:
        assert model is not None  # one of them is given
        return load_model(model)
    encoder = new_encoder(config, recipe.preprocessor)
    if replaced_tokens:
        return encoder
    if recipe.has_pairs and "pooled_output" in encoder.output:
        return bert_pretrainer(encoder)
    if recipe.has_pairs:
        warnings.warn(
            "The encoder has no pooler to classify pairs: training masked words only.",
            stacklevel=3,
        )
    return masked_lm(encoder)


def _discriminator(trained: keras.Model) -> keras.Model:
    """Returns what is kept of a model that was trained on replaced tokens."""
    full = electra_discriminator(trained)
    found = encoder_of(full)
    return full if config_of(found).family == "electra" else found

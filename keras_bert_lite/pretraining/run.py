"""Pretraining runs that can be interrupted and resumed."""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_above_zero, check_choice, check_positive
from keras_bert_lite.distribution.checks import check_batch
from keras_bert_lite.distribution.strategies import check_strategy
from keras_bert_lite.pretraining.data.dataset import (
    pretraining_dataset,
    read_recipe,
)
from keras_bert_lite.pretraining.data.masking import Masking
from keras_bert_lite.pretraining.data.recipe import Recipe
from keras_bert_lite.pretraining.data.shards import (
    check_records,
    digest,
    read_index,
)
from keras_bert_lite.pretraining.objective_checks import (
    check_validation,
    checked_config,
)
from keras_bert_lite.tasks.compile import compile
from keras_bert_lite.tasks.pretraining.electra import REPLACED_TOKEN_PRETRAINING
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.training import hosts
from keras_bert_lite.training.flops import training_flops
from keras_bert_lite.training.optimizers import bert_adamw, bert_lamb
from keras_bert_lite.training.resume.log import Work
from keras_bert_lite.training.resume.state import fit_from_state

OPTIMIZERS: dict[str, Callable[..., keras.optimizers.Optimizer]] = {
    "adamw": bert_adamw,
    "lamb": bert_lamb,
}


def pretrain(
    model: keras.Model,
    data: str | os.PathLike,
    directory: str | os.PathLike,
    steps: int,
    batch_size: int = 64,
    learning_rate: float | None = None,
    save_every: int = 1000,
    validation: str | os.PathLike | None = None,
    validation_steps: int = 50,
    masking: Masking | None = None,
    optimizer: str | keras.optimizers.Optimizer = "adamw",
    loss_weights: dict[str, float] | None = None,
    seed: int = 0,
    callbacks: list[keras.callbacks.Callback] | None = None,
    verbose: str | int = "auto",
    peak_tflops: float | None = None,
    **options: Any,
) -> keras.callbacks.History:
    """Trains a model on data written by `write_pretraining_data`.

    The run is saved every `save_every` steps, while it goes on, and on SIGTERM, which
    ends it. Called again with the same arguments and a newly built model and
    optimizer, it resumes from the last save. If the run is complete, it only loads the
    last weights into the model. A resumed run gives the same weights as an
    uninterrupted one, bit for bit on a CPU after
    `tf.config.experimental.enable_op_determinism()`.

    Args:
        model: Built by `masked_positions_model` or `electra_pretrainer`, with
            random weights or those of a checkpoint. It is compiled here.
        data: The directory of the data.
        directory: Where the run is saved.
        steps: Total number of batches, a multiple of `save_every`. Each batch is
            an update unless gradients are accumulated.
        batch_size: Rows (B) per step, of all devices together.
        learning_rate: The peak rate, after the warm-up; 1e-4 if `None`.
        save_every: Steps between saves. Each such period is an epoch of `fit`,
            with its own progress bar, metrics and validation.
        validation: A directory of held-out data.
        validation_steps: How many held-out batches are evaluated.
        masking: See `pretraining_dataset`. `None`: the data's; for replaced token
            detection ELECTRA's, 85 % `[MASK]` and no random pieces. Held-out data
            that were masked when they were written keep their masks.
        optimizer: `"adamw"`, `"lamb"` for large batches, or a Keras optimizer,
            which has its own learning rate and options.
        loss_weights: See `kbl.compile`.
        seed: Seed for the order of the data and the masks.
        callbacks: More callbacks for `fit`, such as `keras.callbacks.TensorBoard`.
        verbose: See `keras.Model.fit`.
        peak_tflops: TFLOP/s that a device can do; `None`: known by its name, or not.
        **options: Options of the named optimizer, such as `warmup` (0.01 here),
            `weight_decay` or `accumulate`; see `bert_adamw` and `bert_lamb`.

    Returns:
        The history of `fit`, with the speed of the run: `tokens_per_second`,
        `step_seconds` and others. They are in `log.jsonl` in `directory` as well,
        each epoch a line, with the command and the versions.

    Raises:
        FileNotFoundError: If there are no data.
        ValueError: If an argument is out of range, the data do not fit the model or
            the devices (see `distribution.check_batch`), or `directory` holds a run
            with other settings.
        NotImplementedError: If `tf.distribute` is used in a way that Keras 3 does not
            support; see `kbl.compile`.
    """
    check_positive("steps", steps)
    check_positive("validation_steps", validation_steps)
    check_strategy(model)
    if peak_tflops is not None:
        check_above_zero("peak_tflops", peak_tflops)
    optimizer = _optimizer(optimizer, steps, learning_rate, options)
    recipe = read_recipe(data, "data")
    read_index(Path(data), "data")
    config = checked_config(model, recipe, "data")
    check_batch(batch_size, recipe.sequence_length, model)
    part = hosts.part_of_batches()
    batches = functools.partial(_batches, model, batch_size=batch_size, part=part)
    held_out = None
    if validation is not None:  # the same batches each time
        other = check_validation(model, validation, recipe)
        masks = masking if other.masking is None else None
        masks = masks or _default_masking(model, other)
        held_out = batches(validation, masking=masks).take(validation_steps)
    masking = masking or _default_masking(model, recipe)
    settings = {
        "loss_weights": loss_weights,
        "masking": masking and masking.to_dict(),
        "model": config.to_dict(),
        "data": digest(Path(data)),
        "batch_size": batch_size,
        "seed": seed,
    }
    compile(model, optimizer, loss_weights=loss_weights)
    try:
        with hosts.own_batches():
            return fit_from_state(
                model,
                lambda start: batches(data, masking=masking, seed=seed, start=start),
                directory,
                settings,
                steps,
                save_every,
                callbacks=callbacks or [],
                work=_work(model, Path(data), batch_size, recipe, masking, peak_tflops),
                validation_data=held_out,
                verbose=verbose,
            )
    except tf.errors.DataLossError:  # it does not name the file
        for folder in (data, validation):
            if folder is not None:
                check_records(Path(folder))
        raise


def _optimizer(
    optimizer: str | keras.optimizers.Optimizer,
    steps: int,
    learning_rate: float | None,
    options: dict[str, Any],
) -> keras.optimizers.Optimizer:
    """Returns the named optimizer, or a given one, which takes no options."""
    if learning_rate is not None:
        options = {"learning_rate": learning_rate, **options}
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        check_choice("optimizer", optimizer, tuple(OPTIMIZERS))
        options = {"learning_rate": 1e-4, "warmup": 0.01, **options}
        return OPTIMIZERS[optimizer](steps, **options)
    if options:
        raise ValueError(
            f"`optimizer` must be a name, one of {list(OPTIMIZERS)}, where its options "
            f"are given. Received: {optimizer.name!r}, and {sorted(options)}"
        )
    return optimizer


def _batches(model: keras.Model, data: Any, **options: Any) -> Any:
    """Returns the batches, with targets only for the outputs that the model has."""
    names = list(model.output)
    options["replaced"] = task_of(model) is REPLACED_TOKEN_PRETRAINING

    def only(inputs, targets, weights):
        return inputs, *({k: x[k] for k in names} for x in (targets, weights))

    return pretraining_dataset(data, **options).map(only)


def _work(
    model: keras.Model,
    data: Path,
    batch_size: int,
    recipe: Recipe,
    masking: Masking | None,
    peak: float | None,
) -> Work:
    """Returns what a step does, by the mean number of tokens in a row."""
    shards = read_index(data)
    tokens = sum(x.tokens for x in shards) / sum(x.rows for x in shards)
    masking = masking or recipe.make_masking(**(recipe.masking or {}))
    predictions = masking.num_predictions(recipe.sequence_length)
    flops = batch_size * training_flops(model, tokens, predictions)
    return Work(batch_size * tokens, flops, peak)


def _default_masking(model: keras.Model, recipe: Recipe) -> Masking | None:
    replaced = task_of(model) is REPLACED_TOKEN_PRETRAINING
    if not replaced or recipe.masking is not None:
        return None
    return recipe.make_masking(mask_share=0.85, random_share=0.0)

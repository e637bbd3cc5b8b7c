"""The optimizers that BERT is trained with."""

from typing import Any

import keras

from keras_bert_lite.checks import check_above_zero, check_positive, check_rate
from keras_bert_lite.training.adamw import WITHOUT_DECAY, AdamW
from keras_bert_lite.training.gradients import WholeGradients
from keras_bert_lite.training.schedules import LinearWarmup


def adamw(
    steps: int | None,
    learning_rate: float = 5e-5,
    warmup: float = 0.1,
    weight_decay: float = 0.01,
    epsilon: float = 1e-6,
    clip_norm: float | None = 1.0,
    layer_decay: float | None = None,
    accumulate: int = 1,
    **kwargs: Any,
) -> AdamW:
    """Makes the optimizer and the schedule that BERT is fine-tuned with.

    Args:
        steps: How many batches `fit` will see: those of an epoch times the
            epochs. `None`: the rate stays what it is, without warm-up.
        learning_rate: The highest rate; see `LinearWarmup`.
        warmup: The share of the steps during which the rate rises.
        weight_decay, epsilon, layer_decay: See `AdamW`.
        clip_norm: To what the norm of all gradients together is clipped, if it
            is greater; `None`: they are not.
        accumulate: Over how many batches gradients are averaged before each
            update. Batches that are left at the end make none.
        **kwargs: Of `keras.optimizers.Adam`, such as `beta_2` or `use_ema`.

    Returns:
        An optimizer for `model.compile`.

    Raises:
        ValueError: If an argument is out of its range.

    Example: three epochs of 1000 batches.

    >>> optimizer = adamw(steps=3 * 1000, learning_rate=2e-5)
    >>> optimizer.get_config()["learning_rate"]["config"]["warmup_steps"]
    300
    """
    return AdamW(
        weight_decay=weight_decay,
        layer_decay=layer_decay,
        epsilon=epsilon,
        **_shared(steps, learning_rate, warmup, clip_norm, accumulate),
        **kwargs,
    )


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Lamb(WholeGradients, keras.optimizers.Lamb):
    """`keras.optimizers.Lamb` on whole gradients, see `WholeGradients`."""


def lamb(
    steps: int | None,
    learning_rate: float = 1e-3,
    warmup: float = 0.1,
    weight_decay: float = 0.01,
    clip_norm: float | None = 1.0,
    accumulate: int = 1,
    **kwargs: Any,
) -> Lamb:
    """Makes Keras's LAMB with BERT's schedule, for batches of thousands of rows.

    As in Keras, weights decay on their own, outside of the ratio of norms by which
    LAMB scales an update; biases and normalizations do not decay.

    Args:
        steps, learning_rate, warmup, accumulate: See `adamw`.
        weight_decay: See `keras.optimizers.Lamb`.
        clip_norm: To what the norm of each update's gradients is clipped, if it is
            greater; `None`: they are not.
        **kwargs: See `keras.optimizers.Lamb`.

    Raises:
        ValueError: If an argument is out of its range.

    Reference: [You et al., 2020](https://arxiv.org/abs/1904.00962).
    """
    check_rate("weight_decay", weight_decay)
    optimizer = Lamb(
        weight_decay=weight_decay,
        **_shared(steps, learning_rate, warmup, clip_norm, accumulate),
        **kwargs,
    )
    optimizer.exclude_from_weight_decay(var_names=list(WITHOUT_DECAY))
    return optimizer


def _shared(
    steps: int | None,
    learning_rate: float,
    warmup: float,
    clip_norm: float | None,
    accumulate: int,
) -> dict[str, Any]:
    """The arguments that both optimizers have, checked."""
    check_positive("accumulate", accumulate)
    if clip_norm is not None:
        check_above_zero("clip_norm", clip_norm)
    return {
        "learning_rate": _schedule(steps, learning_rate, warmup, accumulate),
        "global_clipnorm": clip_norm,
        "gradient_accumulation_steps": accumulate if accumulate > 1 else None,
    }


def _schedule(
    steps: int | None, learning_rate: float, warmup: float, accumulate: int
) -> LinearWarmup | float:
    check_above_zero("learning_rate", learning_rate)
    if steps is None:
        return float(learning_rate)
    check_positive("steps", steps)
    check_rate("warmup", warmup)
    if steps < accumulate:
        raise ValueError(
            "`steps` must be at least `accumulate`, or there is no update. "
            f"Received: steps={steps}, accumulate={accumulate}"
        )
    updates = steps // accumulate
    return LinearWarmup(learning_rate, updates, int(updates * warmup), accumulate)

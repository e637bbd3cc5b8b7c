"""Learning rate schedules."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_above_zero, check_not_negative, check_positive


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class LinearWarmup(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up from zero to a peak, and a decay to zero.

    For update t, counted from 0, with `steps` n and `warmup_steps` w:

    `peak * t / w` if `t < w`, then `peak * (n - t) / (n - w)`, then 0.

    With `cooldown_steps` c, the rate stays at the peak until `t = n - c` and then is
    `peak * (1 - sqrt((t - n + c) / c))`: warm-up, stable, decay, as ModernBERT was
    trained. While it is stable, a run may be made longer at will.

    These are `transformers.get_linear_schedule_with_warmup` and `get_wsd_schedule`,
    with `decay_type="1-sqrt"`.

    Args:
        peak: The highest rate.
        steps: The total number of updates.
        warmup_steps: The number of updates in which the rate rises.
        accumulate: The number of batches per update. Keras passes the number of
            batches to a schedule, even if the optimizer accumulates gradients.
        cooldown_steps: The number of updates, at the end, in which the rate falls;
            `None`: all after the warm-up, and linearly.

    Call arguments:
        step: The number of batches before this one, an integer.

    Returns:
        The rate, a scalar float32.

    Raises:
        ValueError: If `peak` is not a positive number, `steps` or `accumulate`
            is not a positive integer, or `warmup_steps` and `cooldown_steps` together
            are more than `steps`.

    Example:

    >>> rate = LinearWarmup(1.0, steps=6, warmup_steps=2)
    >>> [float(rate(step)) for step in range(8)]
    [0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]

    >>> rate = LinearWarmup(1.0, steps=6, warmup_steps=1, cooldown_steps=4)
    >>> [round(float(rate(step)), 2) for step in range(7)]
    [0.0, 1.0, 1.0, 0.5, 0.29, 0.13, 0.0]

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), appendix A.2;
    the cooldown: [Hägele et al., 2024](https://arxiv.org/abs/2405.18392), section 3.
    """

    def __init__(
        self,
        peak: float,
        steps: int,
        warmup_steps: int = 0,
        accumulate: int = 1,
        cooldown_steps: int | None = None,
    ) -> None:
        check_above_zero("peak", peak)
        check_positive("steps", steps)
        check_not_negative("warmup_steps", warmup_steps)
        check_positive("accumulate", accumulate)
        if warmup_steps > steps:
            raise ValueError(
                "`warmup_steps` must be at most `steps`. "
                f"Received: warmup_steps={warmup_steps}, steps={steps}"
            )
        if cooldown_steps is not None:
            check_positive("cooldown_steps", cooldown_steps)
            if warmup_steps + cooldown_steps > steps:
                raise ValueError(
                    "`cooldown_steps` must be at most `steps - warmup_steps`. "
                    f"Received: cooldown_steps={cooldown_steps}, steps={steps}, "
                    f"warmup_steps={warmup_steps}"
                )
        self.peak = peak
        self.steps = steps
        self.warmup_steps = warmup_steps
        self.accumulate = accumulate
        self.cooldown_steps = cooldown_steps

    def __call__(self, step):
        update = ops.cast(ops.floor_divide(step, self.accumulate), "float32")
        rising = update / max(1, self.warmup_steps)
        share = ops.where(update < self.warmup_steps, rising, self._falling(update))
        return self.peak * ops.maximum(share, 0.0)

    def _falling(self, update):
        """Returns the share of the peak after the warm-up, below 0 after the end."""
        if self.cooldown_steps is None:
            return (self.steps - update) / max(1, self.steps - self.warmup_steps)
        begin = self.steps - self.cooldown_steps
        return 1 - ops.sqrt(ops.maximum(update - begin, 0) / self.cooldown_steps)

    def get_config(self) -> dict[str, Any]:
        return {
            "peak": self.peak,
            "steps": self.steps,
            "warmup_steps": self.warmup_steps,
            "accumulate": self.accumulate,
            "cooldown_steps": self.cooldown_steps,
        }

"""Optimizers for BERT: Adam with decoupled weight decay, and LAMB."""

import re
from collections.abc import Sequence
from typing import Any, TypedDict

import keras
import numpy as np
from keras import ops

from keras_bert_lite._private import adam_state
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_above_zero, check_positive, check_rate
from keras_bert_lite.training.gradients import WholeGradients
from keras_bert_lite.training.schedules import LinearWarmup

# Names of the weights without decay: biases and normalization weights.
WITHOUT_DECAY = ("bias", "beta", "gamma", "scale")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class AdamW(WholeGradients, keras.optimizers.Adam):
    """Adam with decoupled weight decay and layer-wise learning rates for BERT.

    Each update of a weight w, with learning rate r and the layer's multiplier s:

    `w -= s r weight_decay w`, except for biases and normalization weights;
    `w -= s r Adam(gradient)`.

    It differs from `keras.optimizers.AdamW` in three ways:

    - the names of the weights without decay are part of the configuration, and so
      are saved in `.keras` files;
    - `layer_decay`: s is 1 for head and pooler, `layer_decay` for the top block,
      its square for the block below, and so on down to the embeddings. Depth counts
      trainable blocks, not layers: in ALBERT the shared block has depth 1 and the
      embeddings depth 2. Relative position tables have the depth of the embeddings,
      and DeBERTa's convolution that of the first block;
    - `global_clipnorm` uses the norm of dense gradients, see `WholeGradients`.

    As in Keras, `epsilon` is added to `sqrt(v)` before the bias correction (the
    "epsilon hat" of the paper, also used by Google's BERT). PyTorch adds it after
    the correction, where it matters less in the first few thousand updates.

    Args:
        learning_rate: A number or a schedule.
        weight_decay: See above.
        layer_decay: In (0, 1]; `None`: every layer has the full rate.
        epsilon: See above.
        exclude: Names of weights without decay: the last part of their paths.
        **kwargs: See `keras.optimizers.Adam`.

    Raises:
        ValueError: If an argument is out of range; with `layer_decay`, when
            training starts, if no weight belongs to an encoder's block.

    Reference: [Loshchilov and Hutter, 2019](https://arxiv.org/abs/1711.05101);
    layers: [Clark et al., 2020](https://arxiv.org/abs/2003.10555), appendix B.
    """

    def __init__(
        self,
        learning_rate: Any = 5e-5,
        weight_decay: float = 0.01,
        layer_decay: float | None = None,
        epsilon: float = 1e-6,
        exclude: Sequence[str] = WITHOUT_DECAY,
        **kwargs: Any,
    ) -> None:
        check_rate("weight_decay", weight_decay)
        check_above_zero("epsilon", epsilon)
        _check_layer_decay(layer_decay)
        super().__init__(learning_rate, epsilon=epsilon, **kwargs)
        # Not `weight_decay`, with which Keras would decay the weights again.
        self.decoupled_weight_decay = weight_decay
        self.layer_decay = layer_decay
        self.exclude = tuple(exclude)

    def build(self, variables) -> None:
        if self.built:
            return
        names = [variable.path.split("/")[-1] for variable in variables]
        decay = self.decoupled_weight_decay
        self._decays = tuple(0.0 if x in self.exclude else decay for x in names)
        base = 1.0 if self.layer_decay is None else self.layer_decay
        depths = [0] * len(variables)
        if self.layer_decay is not None:
            depths = depths_below_head([variable.path for variable in variables])
        self._shares = tuple(base**depth for depth in depths)
        super().build(variables)

    def update_step(self, gradient, variable, learning_rate) -> None:
        index, *_ = adam_state(self, variable)
        rate = ops.cast(learning_rate, variable.dtype) * self._shares[index]
        if self._decays[index]:
            self.assign_sub(variable, variable * (rate * self._decays[index]))
        if self._updates_in_one_pass(variable):
            self._update_in_one_pass(gradient, variable, rate)
        else:
            super().update_step(gradient, variable, rate)

    def _updates_in_one_pass(self, variable) -> bool:
        """Whether TensorFlow's fused op can replace Keras's update."""
        if keras.backend.backend() != "tensorflow":
            return False
        if not isinstance(variable, tf.Variable) or variable.dtype != tf.float32:
            return False
        return not self.amsgrad and not tf.distribute.has_strategy()

    def _update_in_one_pass(self, gradient, variable, rate) -> None:
        """Applies TensorFlow's fused Adam op: one pass over memory, not twelve."""
        _, momentum, velocity = adam_state(self, variable)
        dtype = variable.dtype
        betas = [ops.cast(beta, dtype) for beta in (self.beta_1, self.beta_2)]
        step = ops.cast(self.iterations + 1, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=momentum.value.handle,
            v=velocity.value.handle,
            beta1_power=ops.power(betas[0], step),
            beta2_power=ops.power(betas[1], step),
            lr=rate,
            beta1=betas[0],
            beta2=betas[1],
            epsilon=ops.cast(self.epsilon, dtype),
            grad=ops.cast(gradient, dtype),
        )

    def exclude_from_weight_decay(self, var_list=None, var_names=None) -> None:
        raise NotImplementedError(
            "`AdamW(exclude=...)` must be used instead, so that the names are saved "
            f"with it. Received: var_list={var_list}, var_names={var_names}"
        )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "weight_decay": self.decoupled_weight_decay,
            "layer_decay": self.layer_decay,
            "exclude": list(self.exclude),
        }


def depths_below_head(paths: Sequence[str]) -> list[int]:
    """Returns the depth of each weight below the head: 0 for head and pooler.

    Raises:
        ValueError: If no weight belongs to an encoder's block.
    """
    heights = [_height(path) for path in paths]
    blocks = max((height for height in heights if height is not None), default=0)
    if not blocks:
        raise ValueError(
            "`layer_decay` needs weights of an encoder's blocks. "
            f"Received: {', '.join(paths[:3])} and so on"
        )
    return [0 if height is None else blocks + 1 - height for height in heights]


def _height(path: str) -> int | None:
    """Returns 0 for embeddings, 1 for the first block, None above the blocks."""
    if re.search(r"(^|/)(embeddings|relative_table|relative_bias)/", path):
        return 0
    if block := re.search(r"(^|/)block_(\d+)/", path):
        return int(block[2]) + 1
    return 1 if re.search(r"(^|/)convolution/", path) else None


def _check_layer_decay(value: Any) -> None:
    if value is None:
        return
    check_above_zero("layer_decay", value)
    if value > 1:
        raise ValueError(f"`layer_decay` must be at most 1. Received: {value!r}")


class Schedule(TypedDict, total=False):
    """The options of a long training, such as pretraining, that set its updates.

    Args:
        warmup: The share of the steps in which the rate rises; 0.1, in pretraining 0.01
            and in distillation 0.05.
        cooldown: The share of the steps, at the end, in which the rate falls; by
            default it falls from the end of the warm-up on. See `bert_adamw`.
        weight_decay: See `bert_adamw`; 0.01.
        accumulate: Over how many batches gradients are averaged for each update; 1.
    """

    warmup: float
    cooldown: float | None
    weight_decay: float
    accumulate: int


def bert_adamw(
    steps: int | None,
    learning_rate: float = 5e-5,
    warmup: float = 0.1,
    weight_decay: float = 0.01,
    epsilon: float = 1e-6,
    clip_norm: float | None = 1.0,
    layer_decay: float | None = None,
    accumulate: int = 1,
    cooldown: float | None = None,
    **kwargs: Any,
) -> AdamW:
    """Creates the optimizer and learning rate schedule for fine-tuning BERT.

    Args:
        steps: The total number of batches in `fit`: batches per epoch times
            epochs. `None`: the rate is constant, without warm-up.
        learning_rate: The peak rate; see `LinearWarmup`.
        warmup: The share of the steps in which the rate rises.
        weight_decay, epsilon, layer_decay: See `AdamW`.
        clip_norm: The maximum global norm of the gradients; `None`: they are not
            clipped.
        accumulate: Over how many batches gradients are averaged for each update.
            Remaining batches at the end give no update.
        cooldown: The share of the steps, at the end, in which the rate falls from
            the peak, where it stays until then (ModernBERT). `None`: it falls
            linearly from the end of the warm-up (BERT).
        **kwargs: See `keras.optimizers.Adam`, such as `beta_2` or `use_ema`.

    Returns:
        An optimizer for `model.compile`.

    Raises:
        ValueError: If an argument is out of range.

    Example: three epochs of 1000 batches.

    >>> optimizer = bert_adamw(steps=3 * 1000, learning_rate=2e-5)
    >>> optimizer.get_config()["learning_rate"]["config"]["warmup_steps"]
    300
    """
    return AdamW(
        weight_decay=weight_decay,
        layer_decay=layer_decay,
        epsilon=epsilon,
        **_shared(steps, learning_rate, warmup, clip_norm, accumulate, cooldown),
        **kwargs,
    )


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Lamb(WholeGradients, keras.optimizers.Lamb):
    """`keras.optimizers.Lamb` with dense gradients, see `WholeGradients`."""


def bert_lamb(
    steps: int | None,
    learning_rate: float = 1e-3,
    warmup: float = 0.1,
    weight_decay: float = 0.01,
    clip_norm: float | None = 1.0,
    accumulate: int = 1,
    cooldown: float | None = None,
    **kwargs: Any,
) -> Lamb:
    """Creates Keras's LAMB with BERT's schedule, for batches of thousands of rows.

    As in Keras, weight decay is decoupled: it is not scaled by LAMB's trust ratio.
    Biases and normalization weights do not decay.

    Args:
        steps, learning_rate, warmup, accumulate, clip_norm, cooldown: See
            `bert_adamw`.
        weight_decay: See `keras.optimizers.Lamb`.
        **kwargs: See `keras.optimizers.Lamb`.

    Raises:
        ValueError: If an argument is out of range.

    Reference: [You et al., 2020](https://arxiv.org/abs/1904.00962).
    """
    check_rate("weight_decay", weight_decay)
    optimizer = Lamb(
        weight_decay=weight_decay,
        **_shared(steps, learning_rate, warmup, clip_norm, accumulate, cooldown),
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
    cooldown: float | None,
) -> dict[str, Any]:
    """Checks and returns the arguments common to both optimizers."""
    check_positive("accumulate", accumulate)
    if clip_norm is not None:
        check_above_zero("clip_norm", clip_norm)
    return {
        "learning_rate": _schedule(steps, learning_rate, warmup, accumulate, cooldown),
        "global_clipnorm": clip_norm,
        "gradient_accumulation_steps": accumulate if accumulate > 1 else None,
    }


def _schedule(
    steps: int | None,
    learning_rate: float,
    warmup: float,
    accumulate: int,
    cooldown: float | None,
) -> LinearWarmup | float:
    check_above_zero("learning_rate", learning_rate)
    if steps is None:
        return float(learning_rate)
    check_positive("steps", steps)
    check_rate("warmup", warmup)
    _check_cooldown(cooldown, warmup)
    if steps < accumulate:
        raise ValueError(
            "`steps` must be at least `accumulate`, or there is no update. "
            f"Received: steps={steps}, accumulate={accumulate}"
        )
    updates = steps // accumulate
    rising = int(updates * warmup)
    falling = None if cooldown is None else max(1, int(updates * cooldown))
    return LinearWarmup(learning_rate, updates, rising, accumulate, falling)


def _check_cooldown(cooldown: float | None, warmup: float) -> None:
    if cooldown is None:
        return
    check_above_zero("cooldown", cooldown)
    if cooldown + warmup > 1:
        raise ValueError(
            "`cooldown` must be at most `1 - warmup`. "
            f"Received: cooldown={cooldown}, warmup={warmup}"
        )


def build_optimizer(model: keras.Model) -> None:
    """Creates the variables of a compiled model's optimizer, if it has none.

    Created within the first step of `fit`, they make TensorFlow trace it twice.
    """
    if not model.optimizer.built:  # `LossScaleOptimizer` adds variables each time
        model.optimizer.build(model.trainable_variables)


class OptimizerStart:
    """The values that a built optimizer's variables begin with, to start it over.

    Compiled with another optimizer, the model's training step would be traced again.

    Args:
        optimizer: A built optimizer, before its first update.
    """

    def __init__(self, optimizer: keras.optimizers.Optimizer) -> None:
        values = [(x, ops.convert_to_numpy(x)) for x in optimizer.variables]
        self._values = [(x, _compact(value)) for x, value in values]

    def restore(self) -> None:
        """Gives each variable the value that it began with."""
        for variable, value in self._values:
            variable.assign(np.broadcast_to(value, variable.shape))


def _compact(value: np.ndarray) -> np.ndarray:
    """Returns a value as one number if it is the same everywhere, as most are."""
    same = value.size and (value == value.flat[0]).all()
    return np.array(value.flat[0] if same else value)

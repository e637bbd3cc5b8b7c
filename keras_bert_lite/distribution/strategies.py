"""What of `tf.distribute` works with Keras 3, and what is refused."""

from typing import Any

import keras

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.training.gradients import WholeGradients

CLIPPING = ("clipnorm", "global_clipnorm", "clipvalue")


def unsupported() -> tuple[type, ...]:
    """Returns the classes of strategies that Keras 3 does not support."""
    return (
        tf.distribute.MultiWorkerMirroredStrategy,
        tf.distribute.experimental.ParameterServerStrategy,
        tf.distribute.ParameterServerStrategy,
        tf.distribute.TPUStrategy,
    )


def check_strategy(model: keras.Model | None = None) -> None:
    """Refuses strategies of `tf.distribute` that Keras 3 does not support.

    Args:
        model: A model, which may have been built under a strategy; `None`: only the
            current one is checked.

    Raises:
        NotImplementedError: If there is one.
    """
    if keras.backend.backend() != "tensorflow":
        return
    current = tf.distribute.get_strategy()
    for strategy in (current, current if model is None else model.distribute_strategy):
        if isinstance(strategy, unsupported()):
            raise NotImplementedError(
                "Keras 3 cannot train under this strategy of `tf.distribute`. TPUs "
                "and several hosts work with the JAX backend (`KERAS_BACKEND=jax`) "
                "and `keras_bert_lite.distribution.setup()`; several GPUs of one "
                "host with `tf.distribute.MirroredStrategy` too. "
                f"Received: {type(strategy).__name__}"
            )


def is_replicated(model: keras.Model) -> bool:
    """Returns whether a model was built under a strategy of several devices."""
    if keras.backend.backend() != "tensorflow":
        return False
    return model.distribute_strategy.num_replicas_in_sync > 1


def check_compile_options(
    optimizer: keras.optimizers.Optimizer, options: dict[str, Any]
) -> None:
    """Refuses what goes wrong on several devices of `MirroredStrategy`.

    Args:
        optimizer: The optimizer.
        options: Other arguments of `keras.Model.compile`.

    Raises:
        NotImplementedError: If an option fails there, or would clip or accumulate
            the gradients of each device for itself.
    """
    steps = options.get("steps_per_execution") or 1
    wrong = {}
    if steps > 1:
        wrong["steps_per_execution"] = steps
    if options.get("jit_compile") is True:
        wrong["jit_compile"] = True
    if optimizer.gradient_accumulation_steps:
        wrong["gradient_accumulation_steps"] = optimizer.gradient_accumulation_steps
    if not isinstance(optimizer, WholeGradients):
        clipping = {name: getattr(optimizer, name, None) for name in CLIPPING}
        wrong |= {name: x for name, x in clipping.items() if x is not None}
    if wrong:
        raise NotImplementedError(
            "Under `tf.distribute.MirroredStrategy`, `steps_per_execution` must be 1, "
            "`jit_compile` not True and gradients not accumulated, and optimizers "
            "other than `bert_adamw` and `bert_lamb` must not clip: Keras clips the "
            "gradients of each device by itself. The JAX backend and "
            "`keras_bert_lite.distribution.setup()` have none of these limits. "
            f"Received: {wrong}"
        )

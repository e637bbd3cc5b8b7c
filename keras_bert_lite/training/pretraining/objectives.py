"""What a pretrainer is trained for: losses, their weights and metrics, by output."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras

from keras_bert_lite.training.losses.replaced_tokens import ReplacedTokenLoss
from keras_bert_lite.training.metrics.perplexity import Perplexity
from keras_bert_lite.training.metrics.replaced_tokens import (
    ReplacedTokenAccuracy,
    ReplacedTokenRecall,
)


class Objective(NamedTuple):
    """What one output is trained for."""

    loss: Callable[[], keras.losses.Loss]
    metrics: tuple[Callable[[], keras.metrics.Metric], ...]
    weight: float = 1.0


def _cross_entropy() -> keras.losses.Loss:
    return keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction="mean_with_sample_weight"
    )


def _accuracy() -> keras.metrics.Metric:
    return keras.metrics.SparseCategoricalAccuracy(name="accuracy")


OBJECTIVES = {
    "prediction_logits": Objective(_cross_entropy, (_accuracy, Perplexity)),
    "seq_relationship_logits": Objective(_cross_entropy, (_accuracy,)),
    # The weight is ELECTRA's: most tokens are easy, so the loss is small.
    "replaced_logits": Objective(
        ReplacedTokenLoss, (ReplacedTokenAccuracy, ReplacedTokenRecall), 50.0
    ),
}


def compile_pretrainer(
    model: keras.Model,
    optimizer: keras.optimizers.Optimizer,
    loss_weights: dict[str, float] | None = None,
    **kwargs: Any,
) -> None:
    """Compiles a pretrainer with the losses and metrics of its outputs.

    Masked words: cross-entropy over the masked positions; accuracy, perplexity.
    Pairs: cross-entropy; accuracy. Replaced tokens: binary cross-entropy over real
    tokens, times 50; accuracy, and recall, the share of replaced tokens found.

    Args:
        model: Made by `for_masked_positions` or `replaced_token_pretrainer`, or by
            `distillation_model` from the former.
        optimizer: Such as `adamw` makes.
        loss_weights: Other weights than those, by output.
        **kwargs: See `keras.Model.compile`.

    Raises:
        ValueError: If the model, or `loss_weights`, has other outputs.
    """
    names = list(model.output) if isinstance(model.output, dict) else [""]
    if not set(names) <= set(OBJECTIVES):
        raise ValueError(
            "`model` must be made by `for_masked_positions` or "
            f"`replaced_token_pretrainer`. Received: {model.name!r}, with the outputs "
            f"{names}"
        )
    wanted = {name: OBJECTIVES[name] for name in names}
    if unknown := set(loss_weights or {}) - set(names):
        raise ValueError(
            f"`loss_weights` must be of the outputs {names}. "
            f"Received: {sorted(unknown)}"
        )
    model.compile(
        optimizer,
        loss={name: x.loss() for name, x in wanted.items()},
        loss_weights={
            name: (loss_weights or {}).get(name, x.weight) for name, x in wanted.items()
        },
        weighted_metrics={
            name: [make() for make in x.metrics] for name, x in wanted.items()
        },
        **kwargs,
    )

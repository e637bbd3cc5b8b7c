"""`compile`: a model with its task's losses and metrics, and BERT's optimizer."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import keras

from keras_bert_lite._private import build_from_one_replica, sublayers
from keras_bert_lite.distribution.checks import check_layout
from keras_bert_lite.distribution.strategies import (
    check_compile_options,
    check_strategy,
    is_replicated,
)
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.task import (
    Output,
    Task,
    head_layers,
)
from keras_bert_lite.training import objectives
from keras_bert_lite.training.optimizers import bert_adamw, build_optimizer
from keras_bert_lite.training.precision import warn_of_slow_float16

LEARNING_RATE = 5e-5  # the highest of those tried in the BERT paper


def compile(
    model: keras.Model,
    optimizer: keras.optimizers.Optimizer | str | None = None,
    *,
    steps: int | None = None,
    learning_rate: float | None = None,
    loss: Any = None,
    loss_weights: Mapping[str, float] | None = None,
    weighted_metrics: Any = None,
    **kwargs: Any,
) -> None:
    """Compiles a model with its task's losses and metrics, and BERT's optimizer.

    Compile again after weights were frozen, unfrozen or added (`tuning.freeze`,
    `tuning.enable_lora`): with TensorFlow, the optimizer is built for those that are
    trainable now.

    Args:
        model: A model from a task's builder, or from `masked_positions_model`,
            `electra_pretrainer` or `distillation_model`.
        optimizer: Any Keras optimizer; `None`: `bert_adamw(steps, learning_rate)`.
        steps: The total number of batches in `fit`, for the warm-up and decay of
            the learning rate; `None`: the rate is constant.
        learning_rate: The optimizer's peak rate; `None`: 5e-5.
        loss: A loss instead of the task's. For several outputs a dictionary, in
            which outputs may be missing.
        loss_weights: Weights of the outputs' losses instead of the task's, by
            output.
        weighted_metrics: Metrics instead of the task's; see `keras.Model.compile`.
        **kwargs: See `keras.Model.compile`.

    Raises:
        ValueError: If the model has no task, or its task needs a `loss`; if `loss`
            does not fit the head (it expects probabilities, or is a cross-entropy
            on the scores of a CRF), or a metric (Keras's on the scores of a CRF,
            `"accuracy"` of words); if `loss` or `loss_weights` name unknown
            outputs; or if `steps` or `learning_rate` are given with an
            `optimizer`; or if a key of the layout given to `distribution.setup`
            matches no weight. `model.compile` checks none of this.
        NotImplementedError: Under a strategy of `tf.distribute` other than
            `MirroredStrategy`, and under that with options that fail there, or
            gradients that Keras would clip for each device by itself.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.text_classifier(encoder, labels=["bad", "good"])
    >>> kbl.compile(model, steps=3 * 1000, learning_rate=3e-5)
    >>> type(model.optimizer).__name__
    'AdamW'
    """
    check_strategy(model)
    check_layout(model)
    if any(layer.compute_dtype == "float16" for layer in sublayers(model)):
        warn_of_slow_float16()
    outputs = _outputs(model)
    losses = {} if loss is None else _by_output("loss", loss, outputs)
    for name, given in losses.items():
        _check_loss(given, outputs[name])
    weights = {}
    if loss_weights is not None:
        weights = _by_output("loss_weights", loss_weights, outputs)
    for metrics in (weighted_metrics, kwargs.get("metrics")):
        _check_metrics(metrics, outputs)
    if weighted_metrics is None:
        weighted_metrics = {name: _metrics(model, x) for name, x in outputs.items()}
    optimizer = keras.optimizers.get(_optimizer(optimizer, steps, learning_rate))
    if is_replicated(model):
        check_compile_options(optimizer, kwargs)
        build_from_one_replica(model)
    model.compile(
        optimizer,
        loss={name: losses.get(name) or _loss(x) for name, x in outputs.items()},
        loss_weights={name: weights.get(name, x.weight) for name, x in outputs.items()},
        weighted_metrics=weighted_metrics,
        **kwargs,
    )
    if keras.backend.backend() == "tensorflow" and not is_replicated(model):
        build_optimizer(model)


def data_set_of(model: keras.Model) -> Callable | None:
    """Returns the function that makes data sets for a model, such as `text_dataset`.

    It is `None` if the model's task has none.

    Raises:
        ValueError: If the model has no task.
    """
    return _task(model).data_set


def _task(model: keras.Model) -> Task:
    task = task_of(model)
    if task is None:
        raise ValueError(
            "`model` must be made by a task's builder, such as `text_classifier`. "
            f"Received: {model!r}"
        )
    return task


def _outputs(model: keras.Model) -> dict[str, Output]:
    """Returns the task's outputs that the model has, by name."""
    rows = {output.name: output for output in _task(model).outputs}
    names = list(model.output) if isinstance(model.output, dict) else []
    if not names or not set(names) <= set(rows):
        raise ValueError(
            f"`model` must give {sorted(rows)}; compile the model on ids, not its "
            f"string-in form. Received: {model.name!r}, with the outputs {names}"
        )
    return {name: rows[name] for name in names}


def _by_output(argument: str, value: Any, outputs: Mapping[str, Output]) -> dict:
    if not isinstance(value, Mapping):
        if len(outputs) > 1:
            raise ValueError(
                f"`{argument}` must be a dictionary by output, of {list(outputs)}. "
                f"Received: {value!r}"
            )
        return dict.fromkeys(outputs, value)
    if unknown := sorted(set(value) - set(outputs)):
        raise ValueError(
            f"`{argument}` must be of the outputs {list(outputs)}. Received: {unknown}"
        )
    return dict(value)


def _optimizer(optimizer: Any, steps: int | None, learning_rate: float | None) -> Any:
    if optimizer is None:
        return bert_adamw(
            steps, LEARNING_RATE if learning_rate is None else learning_rate
        )
    if steps is not None or learning_rate is not None:
        raise ValueError(
            "`steps` and `learning_rate` must be None if `optimizer` is given. "
            f"Received: steps={steps}, learning_rate={learning_rate}, "
            f"optimizer={optimizer!r}"
        )
    return optimizer


def _loss(output: Output) -> keras.losses.Loss:
    if output.objective is None:
        raise ValueError(
            f"`loss` must be given, as {output.name!r} can be trained in several "
            "ways; see `keras_bert_lite.losses`. Received: None"
        )
    return output.objective.loss()


def _check_loss(loss: Any, output: Output) -> None:
    """Refuses a loss that does not fit the outputs of the head."""
    loss = keras.losses.get(loss)
    objective = output.objective
    if objective is None:
        return
    name = _name(loss)
    fitting, own = objective.fitting, type(objective.loss()).__name__
    if name in objectives.KNOWN and name not in fitting:
        raise ValueError(
            f"`loss` for {output.name!r} must be None for `{own}`, one of "
            f"{list(fitting)}, or your own. Received: {name!r}"
        )
    if not _from_logits(loss):
        raise ValueError(
            f"`loss` for {output.name!r} must take logits (`from_logits=True`), not "
            f"probabilities. Received: {loss!r}"
        )


def _name(loss: Any) -> str:
    """Returns the function name of a loss; for an object, its class's default name."""
    if isinstance(loss, keras.losses.Loss):
        name = inspect.signature(type(loss)).parameters.get("name")
        return "" if name is None else name.default
    return getattr(loss, "__name__", "")


def _from_logits(loss: Any) -> bool:
    if isinstance(loss, keras.losses.Loss):
        return bool(loss.get_config().get("from_logits", True))
    parameter = inspect.signature(loss).parameters.get("from_logits")
    return parameter is None or parameter.default is True


def _check_metrics(metrics: Any, outputs: Mapping[str, Output]) -> None:
    """Refuses metrics that cannot read the tags of words, or weigh them wrongly."""
    if not isinstance(metrics, Mapping):
        metrics = dict.fromkeys(outputs, metrics) if len(outputs) == 1 else {}
    for name, output in outputs.items():
        if objectives.tag_scores not in output.metrics:
            continue
        for metric in keras.tree.flatten(metrics.get(name)):
            crf = output.objective is objectives.CRF_LIKELIHOOD
            if crf and _is_of_keras(metric):
                why = "read the scores of a CRF"
            elif metric in ("accuracy", "acc"):
                why = "weigh words alike (Keras's accuracy weighs rows alike)"
            else:
                continue
            raise ValueError(
                f"Metrics of {name!r} must {why}: `metrics.WordAccuracy()` or "
                f"`metrics.EntityF1(labels)`. Received: {metric!r}"
            )


def _is_of_keras(metric: Any) -> bool:
    name = getattr(metric, "__name__", type(metric).__name__)
    kind = metric if inspect.isroutine(metric) else type(metric)
    return isinstance(metric, str) or getattr(keras.metrics, name, None) is kind


def _metrics(model: keras.Model, output: Output) -> list[keras.metrics.Metric]:
    head = next(iter(head_layers(model, output.name).values()), None)
    return [make(head) for make in output.metrics]

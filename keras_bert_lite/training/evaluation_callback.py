"""Evaluation on whole data sets during training."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import keras

from keras_bert_lite._finite import is_finite
from keras_bert_lite.checks import check_positive

Score = Callable[[keras.Model], Mapping[str, float]]


class EvaluationCallback(keras.callbacks.Callback):
    """Adds scores of the model to the logs at the end of an epoch.

    They appear next to `loss` and `val_loss` in the progress bar and the history.
    Callbacks that come later in the list can use them, for early stopping, saving
    or logging. Pass `mode` to such callbacks, as Keras knows the direction of its
    own metrics only.

    ```python
    score = kbl.evaluation.on_rows(rows, preprocessor)
    model.fit(
        train,
        epochs=10,
        callbacks=[
            kbl.evaluation.EvaluationCallback(score),
            keras.callbacks.EarlyStopping("val_f1", mode="max", patience=2),
        ],
    )
    ```

    Args:
        score: Takes the model and returns a dictionary of numbers by name: what
            `evaluation.on_rows` or `evaluation.spearman` returns, or any function.
        prefix: The prefix of the names in the logs.
        every: The number of epochs between evaluations. In other epochs, the logs
            lack the scores, as with `validation_freq` of `model.fit`.

    Warns:
        UserWarning: If a score is NaN or infinite, as a correlation of constant numbers
            is. The logs lack it, so that nothing takes it for the best.

    Raises:
        TypeError: If `score` is not a function, or does not return numbers by name.
        ValueError: If `every` is not a positive integer, or a name is already in
            the logs.
    """

    def __init__(self, score: Score, prefix: str = "val_", every: int = 1) -> None:
        super().__init__()
        if not callable(score):
            raise TypeError(
                "`score` must be a function that takes a model and returns numbers by "
                f"name. Received: {score!r}"
            )
        check_positive("every", every)
        self.score = score
        self.prefix = prefix
        self.every = every

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is None or (epoch + 1) % self.every:
            return
        numbers = _numbers(self.score(self.model))
        numbers = {self.prefix + name: x for name, x in numbers.items()}
        numbers = _finite(numbers, epoch)
        if taken := sorted(set(numbers) & set(logs)):
            raise ValueError(
                f"`prefix` must make names that are not in the logs; {taken} are. "
                f"Received: {self.prefix!r}"
            )
        logs.update(numbers)


def _finite(numbers: dict[str, float], epoch: int) -> dict[str, float]:
    """Leaves out what Keras's callbacks would take for the best, if it came first."""
    odd = {name: x for name, x in numbers.items() if not is_finite(x)}
    if odd:
        warnings.warn(
            f"`score` must return finite numbers; others are left out of the logs. "
            f"Received: {odd} after epoch {epoch + 1}",
            stacklevel=2,
        )
    return {name: x for name, x in numbers.items() if name not in odd}


def _numbers(report: Any) -> dict[str, float]:
    if not isinstance(report, Mapping):
        raise TypeError(f"`score` must return numbers by name. Received: {report!r}")
    try:
        return {name: float(x) for name, x in report.items()}
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`score` must return numbers by name. Received: {report!r}"
        ) from error

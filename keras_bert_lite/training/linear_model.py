"""Linear models of vectors, fitted by L-BFGS."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_bert_lite.layers import ClassificationHead, DenseHead, RegressionHead
from keras_bert_lite.training.label_shares import log_odds, logs

STRENGTHS = (1.0, 3.0, 10.0)
NARROW = 1e-3  # deviation of a sum below which it counts as the same for all rows
FOLDS = 4
JUDGED = 1000  # rows that are enough to judge a linear model by


class Probe(NamedTuple):
    """What a head starts from.

    Args:
        strength: The chosen inverse strength of the penalty (scikit-learn's `C`), or
            `None` for a head that only got its bias.
        loss: The mean loss on the validation rows, or on the training rows if there
            are none; of choices that of the logistic regression, a choice.
    """

    strength: float | None
    loss: float


class Fitted(NamedTuple):
    """A linear model: its `Probe`, kernel `(H, K)` and bias `(K,)`."""

    probe: Probe
    kernel: np.ndarray
    bias: np.ndarray


class Examples(NamedTuple):
    """N vectors `(N, H)` with their targets.

    Args:
        vectors, targets: What is read, and what it should predict.
        weights: How much each counts, `(N,)`.
        rows: The numbers of the rows of the data that they are of, `(N,)`: a row may
            have several, of its words or choices.
    """

    vectors: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    rows: np.ndarray

    def those(self, chosen: np.ndarray) -> "Examples":
        return Examples(*(x[chosen] for x in self))


class Link(NamedTuple):
    """How scores `(N, K)` become predictions.

    Args:
        targets: Turns targets into `(N, K)`, given K.
        bias: The scores of the mean target.
        loss: The loss of each row `(N,)`, and its gradient by the scores.
        head: The class of the head.
    """

    targets: Callable[[np.ndarray, int], np.ndarray]
    bias: Callable[[np.ndarray], np.ndarray]
    loss: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    head: type[DenseHead] = ClassificationHead


@dataclasses.dataclass(frozen=True)
class LinearModel:
    """A linear model of vectors, to be fitted.

    Args:
        link: How its scores become predictions.
        units: K, how many scores it has.
        sums: Weights `(H, F)` of F sums of a vector that it reads too, each in units
            of its standard deviation; the kernel holds them in the end.
        constant: Whether it is a bias alone.
    """

    link: Link
    units: int
    sums: np.ndarray
    constant: bool = False

    def fit(
        self, examples: Examples, held_out: Examples, strengths: Sequence[float]
    ) -> Fitted:
        """Fits it with each strength, and returns the best on the held-out ones."""
        found = []
        for strength, kernel, bias in self._fits(examples, strengths):
            losses = self._losses(held_out, kernel, bias)
            loss = float(np.average(losses, weights=held_out.weights))
            found.append(Fitted(Probe(strength, loss), kernel, bias))
        return min(found, key=lambda x: x.probe.loss)

    def expected_losses(
        self, examples: Examples, strengths: Sequence[float]
    ) -> np.ndarray:
        """Returns the losses of rows that it was not fitted to, part by part.

        Each of `FOLDS` parts of the rows is predicted from the others, or as many
        parts as hold `JUDGED` rows; the strength is the one that is best for all.
        """
        found = []
        for chosen in _folds(examples.rows):
            part, others = examples.those(chosen), examples.those(~chosen)
            _, rows = np.unique(part.rows, return_inverse=True)
            fits = self._fits(others, strengths)
            losses = [part.weights * self._losses(part, *x[1:]) for x in fits]
            found.append([np.bincount(rows, x) for x in losses])
        every = np.concatenate(found, axis=1)
        return every[every.sum(axis=1).argmin()]

    def _fits(
        self, examples: Examples, strengths: Sequence[float]
    ) -> Iterator[tuple[float | None, np.ndarray, np.ndarray]]:
        """Yields each strength, with its kernel and bias; a bias alone has none."""
        vectors, weights = examples.vectors, examples.weights
        targets = self.link.targets(examples.targets, self.units)
        bias = self.link.bias(np.average(targets, axis=0, weights=weights))
        if self.constant:
            yield None, np.zeros((vectors.shape[1], self.units)), bias
            return
        # One number for all vectors: it can be folded into the kernel, as sums can.
        scale = np.linalg.norm(vectors, axis=1).mean() or 1.0  # all may be zeros
        width = len(self.sums)
        deviations = np.maximum((vectors @ self.sums).std(axis=0), NARROW)
        sums = scale * self.sums / deviations
        x = np.hstack([vectors, vectors @ sums])
        x /= scale  # in place: there may be many words
        for strength in strengths:
            kernel, fitted = _fit(x, targets, weights, self.link, strength, bias)
            yield strength, (kernel[:width] + sums @ kernel[width:]) / scale, fitted

    def _losses(
        self, examples: Examples, kernel: np.ndarray, bias: np.ndarray
    ) -> np.ndarray:
        targets = self.link.targets(examples.targets, self.units)
        return self.link.loss(examples.vectors @ kernel + bias, targets)[0]


def _folds(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yields which examples are of each part of the rows, until they are enough."""
    numbers, places = np.unique(rows, return_inverse=True)
    count = len(numbers)
    for part in range(min(FOLDS, count, -(-FOLDS * JUDGED // count))):
        yield places % FOLDS == part


def _fit(
    x: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    link: Link,
    strength: float,
    bias: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimizes the weighted loss plus `|kernel|^2 / (2 strength)`."""
    from scipy.optimize import minimize

    shape = (x.shape[1], targets.shape[1])
    size, total = shape[0] * shape[1], weights.sum()

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        kernel, added = values[:size].reshape(shape), values[size:]
        losses, gradient = link.loss(x @ kernel + added, targets)
        gradient = gradient * weights[:, None]
        loss = weights @ losses + (kernel**2).sum() / (2 * strength)
        slopes = [(x.T @ gradient + kernel / strength).ravel(), gradient.sum(0)]
        return loss / total, np.concatenate(slopes) / total

    start = np.concatenate([np.zeros(size), bias])
    values = minimize(objective, start, jac=True, method="L-BFGS-B").x
    return values[:size].reshape(shape), values[size:]


def _cross_entropy(
    scores: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    shifted = scores - scores.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return -(targets * logs).sum(1), np.exp(logs) - targets


def _binary_cross_entropy(
    scores: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    losses = np.logaddexp(0, scores) - targets * scores
    return losses.sum(1), 0.5 * (1 + np.tanh(scores / 2)) - targets


def _squared_error(
    scores: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return 0.5 * ((scores - targets) ** 2).sum(1), scores - targets


def _columns(targets: np.ndarray, units: int) -> np.ndarray:
    return targets.reshape(len(targets), units).astype("float64")


SOFTMAX = Link(
    lambda targets, units: np.eye(units)[targets.astype(int)],
    logs,
    _cross_entropy,
)
SIGMOID = Link(_columns, log_odds, _binary_cross_entropy)
CHOICES = SIGMOID._replace(head=DenseHead)  # whether one is right, of all choices
LEAST_SQUARES = Link(_columns, lambda mean: mean, _squared_error, RegressionHead)

"""Pictures of how right answers are: confusion matrix and reliability diagram."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert_lite.checks import check_positive
from keras_bert_lite.reliability import BINS, reliability
from keras_bert_lite.visualization import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_confusion(
    expected: Sequence[Any],
    answers: Sequence[Any],
    labels: Sequence[Any] | None = None,
) -> "Figure":
    """Draws how often each label was answered by each.

    A row is a right label, a column an answer. The numbers count, and
    nothing is 0; the shades are shares of the row.

    Args:
        expected: The right labels, `(N,)`.
        answers: The labels that were answered, `(N,)`.
        labels: The labels in their order; `None` for those that occur, sorted.

    Returns:
        A figure.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there are no answers, as many as `expected`, or one is not of
            `labels`.

    Example:

    >>> figure = kbl.visualization.plot_confusion(["a", "b", "b"], ["a", "b", "a"])
    >>> figure.savefig("confusion.png")
    """
    if not len(expected) or len(expected) != len(answers):
        raise ValueError(
            "`expected` and `answers` must have the same number of labels, one at "
            f"least. Received: {len(expected)} and {len(answers)}"
        )
    found = set(np.asarray(expected).tolist()) | set(np.asarray(answers).tolist())
    names = sorted(found) if labels is None else list(labels)
    if unknown := found - set(names):
        raise ValueError(
            "`labels` must contain every label of `expected` and `answers`. "
            f"Received: {names} without {sorted(unknown)}"
        )
    from sklearn.metrics import confusion_matrix  # slow to import

    counts = confusion_matrix(expected, answers, labels=names)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    titles = [str(x) for x in names]
    room = 0.09 * max(map(len, titles))
    size = 0.45 * len(names)
    figure = figures.new_figure(max(3.2, size + room + 1), max(2.6, size + room + 0.7))
    axes = figure.subplots()
    axes.imshow(shares, figures.SHADES, vmin=0, vmax=1)
    figures.name_rows(axes, titles)
    figures.name_columns(axes, titles)
    texts = [[str(x or "") for x in row] for row in counts]
    figures.write_values(axes, shares, texts)
    right = np.trace(counts) / counts.sum()
    axes.set(xlabel=f"answer ({right:.1%} right)", ylabel="right label")
    return figure


def plot_reliability(
    confidences: Sequence[float], right: Sequence[bool], bins: int = BINS
) -> "Figure":
    """Draws how often answers are right, by their confidence.

    If the probabilities mean what they say, the bars end at the diagonal. Below is how
    many answers there are. The expected calibration error is in the title.

    Args:
        confidences: The probability of each answer, `(N,)`: for a classifier, the
            highest of its `scores`.
        right: Whether each answer was right, `(N,)`.
        bins: The number of bars.

    Returns:
        A figure.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If the confidences are not in [0, 1], there are none, or they are
            not as many as `right`.

    Example:

    >>> confidences, right = [0.9, 0.8, 0.95, 0.6], [True, True, True, False]
    >>> figure = kbl.visualization.plot_reliability(confidences, right)
    >>> figure.savefig("reliability.png")

    Reference: [Guo et al., 2017](https://arxiv.org/abs/1706.04599).
    """
    check_positive("bins", bins)
    sure, correct = np.asarray(confidences, float), np.asarray(right, bool)
    if sure.ndim != 1 or sure.shape != correct.shape or not len(sure):
        raise ValueError(
            "`confidences` and `right` must have the same shape (N,), N at least 1. "
            f"Received: {sure.shape} and {correct.shape}"
        )
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError(
            "`confidences` must be probabilities, in [0, 1]. "
            f"Received: {sure.min()} to {sure.max()}"
        )
    found = reliability(sure, correct, bins)
    some = found.counts > 0
    middles, width = (np.arange(bins)[some] + 0.5) / bins, 0.94 / bins
    accuracies = found.right[some] / found.counts[some]
    means = found.confidences[some] / found.counts[some]
    figure = figures.new_figure(4.4, 5.2)
    above, below = figure.subplots(2, height_ratios=(3, 1), sharex=True)
    above.bar(middles, accuracies, width, color=figures.SKY, label="right")
    above.plot(
        means,
        accuracies,
        "D",
        color=figures.BLUE,
        markersize=4,
        label="mean confidence",
    )
    above.plot((0, 1), (0, 1), "--", color=figures.BLACK, linewidth=1, label="ideal")
    above.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="share of right answers")
    above.set_title(
        f"expected calibration error {found.error:.1%} ({len(sure)} answers)",
        fontsize=figures.NORMAL,
    )
    above.legend(loc="upper left", frameon=False, fontsize=figures.SMALL)
    below.bar(middles, found.counts[some], width, color=figures.GREY)
    below.set(xlabel="confidence", ylabel="answers")
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    return figure

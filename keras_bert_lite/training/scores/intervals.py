"""How certain scores are, and differences of scores."""

from collections.abc import Callable

import numpy as np

from keras_bert_lite.training.scores.scorer import Details, Scorer, Scores, of_rows

CONFIDENCE = 0.95
RESAMPLES = 500
Interval = tuple[float, float]


def intervals(scorer: Scorer, details: Details) -> dict[str, Interval]:
    """Returns the 95 % confidence interval of each score.

    That of a share of rows is Wilson's; that of another score holds the middle 95 % of
    its values on rows drawn with replacement (the percentile bootstrap), always the
    same 500 samples.

    Args:
        scorer: Computes the scores.
        details: What it computes them from.
    """
    from scipy.stats import binomtest  # slow to import

    ends: dict[str, Interval] = {}
    if set(scorer.combine(details)) - set(scorer.shares):
        drawn = _drawn(_count(details), lambda i: scorer.combine(of_rows(details, i)))
        ends = {name: _middle(values) for name, values in drawn.items()}
    for name in scorer.shares:
        right = details[name]
        share = binomtest(int(right.sum()), len(right))
        low, high = share.proportion_ci(CONFIDENCE, "wilson")
        ends[name] = float(low), float(high)
    return ends


def difference(
    scorer: Scorer, metric: str, first: Details, second: Details
) -> tuple[Interval, float]:
    """Compares the scores of two models on the same rows.

    Args:
        scorer: Computes the scores.
        metric: The score.
        first, second: What it computes those of the models from.

    Returns:
        The 95 % confidence interval of the second score minus the first, by the
        bootstrap of `intervals`; and how likely a difference as large would be if
        neither model were better (p, two-sided): for shares of rows McNemar's exact
        test, for other scores the share of samples beyond 0, twice.
    """
    from scipy.stats import binomtest  # slow to import

    def score(details: Details, rows: np.ndarray) -> float:
        if metric in scorer.shares:  # at once; other scores would only take time
            return float(details[metric][rows].mean())
        return scorer.combine(of_rows(details, rows))[metric]

    def gains(rows: np.ndarray) -> Scores:
        return {"gain": score(second, rows) - score(first, rows)}

    drawn = np.array(_drawn(_count(first), gains)["gain"])
    if metric in scorer.shares:
        ours, theirs = (np.asarray(x[metric], bool) for x in (second, first))
        won, lost = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
        p = float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
    else:
        beyond = min((drawn <= 0).sum(), (drawn >= 0).sum())
        p = float(min(1.0, 2 * (beyond + 1) / (len(drawn) + 1)))  # never 0
    return _middle(drawn), p


def _drawn(
    count: int, scores: Callable[[np.ndarray], Scores]
) -> dict[str, list[float]]:
    """Returns the scores of samples of rows, drawn with replacement."""
    rng = np.random.default_rng(0)
    drawn: dict[str, list[float]] = {}
    for _ in range(RESAMPLES):
        for name, value in scores(rng.integers(count, size=count)).items():
            drawn.setdefault(name, []).append(value)
    return drawn


def _middle(values: list[float] | np.ndarray) -> Interval:
    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _count(details: Details) -> int:
    return len(next(iter(details.values())))

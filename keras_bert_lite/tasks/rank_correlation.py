"""Rank correlation of batches, for `EvaluationCallback`."""

from collections.abc import Iterable

import keras
import numpy as np

from keras_bert_lite.tasks.outputs import batches, one_number
from keras_bert_lite.training.evaluation_callback import Score


def spearman(data: Iterable) -> Score:
    """Rank correlation of targets and predictions, as in `scipy.stats.spearmanr`.

    Args:
        data: Batches whose targets are numbers, `(B,)` or `(B, 1)`. Weights are
            ignored.

    Returns:
        A function that returns `spearman`. Predictions are a regressor's `logits`, or
        the cosines of a sentence encoder for two texts per row, `(B, 2, S)`. The
        correlation is NaN if targets or predictions are constant.

    Raises:
        ValueError: When called, if the model gives more than one number per row.
    """
    from scipy import stats  # slow to import

    def score(model: keras.Model) -> dict[str, float]:
        pairs = [(y, one_number(model, x)) for x, y, _ in batches(data)]
        targets, numbers = (np.concatenate(x, None) for x in zip(*pairs, strict=True))
        return {"spearman": float(stats.spearmanr(targets, numbers).statistic)}

    return score

"""SQuAD's exact match and F1 of answers to questions."""

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

ARTICLES = re.compile(r"\b(a|an|the)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_scores(
    references: Iterable[Mapping[str, Any]],
    predictions: Mapping[str, str],
    no_answer_scores: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Compares predicted answers with the true ones of SQuAD 1.1 or 2.0.

    Texts are compared in lower case, without punctuation and articles. `exact` is
    the share of equal texts. `f1` is `2 c / (p + g)`, where `c` words are common to
    the `p` words of the prediction and the `g` words of the true answer. If a question
    has several answers, the best score counts; if it has none, only an empty
    prediction is correct. The scores equal those of the official `evaluate-v2.0.py`
    and, on SQuAD 1.1, of `evaluate-v1.1.py` (where `exact` is `exact_match`).

    Args:
        references: The questions, as from `datasets` or `read_squad`: records with
            an `id` and `answers`, whose `text` is a list of strings, empty if the
            question has no answer.
        predictions: The text of the answer by `id`, empty for no answer. Answers to
            other questions are ignored.
        no_answer_scores: Scores by `id`; the higher, the more likely there is no
            answer. They are used to find the best threshold, above which no answer
            is given.

    Returns:
        `exact` and `f1` in percent and `total`, the number of questions; the same
        three for questions with an answer (`HasAns_`) and without one (`NoAns_`),
        if there are any; with `no_answer_scores` also `best_exact`,
        `best_exact_thresh`, `best_f1` and `best_f1_thresh` (minus infinity if it
        is best never to answer).

    Raises:
        ValueError: If there are no questions, an id occurs twice, or a prediction
            or score is missing (the official program counts that as wrong).
        TypeError: If a prediction is not a string.

    Reference: [Rajpurkar et al., 2018](https://arxiv.org/abs/1806.03822).
    """
    golds = _golds(references)
    _check_complete("predictions", golds, predictions)
    exact, f1 = (
        {i: answer_scores(golds[i], predictions[i])[n] for i in golds} for n in (0, 1)
    )
    report = _means(exact, f1, golds)
    answered = [i for i, texts in golds.items() if texts != [""]]
    unanswered = [i for i, texts in golds.items() if texts == [""]]
    for prefix, ids in (("HasAns_", answered), ("NoAns_", unanswered)):
        report |= {prefix + k: v for k, v in _means(exact, f1, ids).items() if ids}
    if no_answer_scores is not None:
        _check_complete("no_answer_scores", golds, no_answer_scores)
        for name, scores in (("best_exact", exact), ("best_f1", f1)):
            best, threshold = _best(scores, no_answer_scores, set(unanswered))
            report |= {name: best, f"{name}_thresh": threshold}
    return report


def answer_scores(texts: Iterable[str], prediction: str) -> tuple[float, float]:
    """Returns the exact match and the F1 of an answer, the best of several texts.

    Args:
        texts: The right answers; only an empty prediction is right if there are none.
        prediction: The answer.
    """
    golds = [x for x in texts if normalize_answer(x)] or [""]
    return (
        max(_exact(x, prediction) for x in golds),
        max(_f1(x, prediction) for x in golds),
    )


def normalize_answer(text: str) -> str:
    """Returns a text in lower case, without punctuation, articles or extra spaces."""
    text = text.lower().translate(WITHOUT_PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", text).split())


def _golds(references: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Returns the answers of each question, `[""]` if it has none."""
    golds: dict[str, list[str]] = {}
    for record in references:
        if record["id"] in golds:
            raise ValueError(
                f"`references` must have each id once. Received: {record['id']!r} again"
            )
        texts = [x for x in record["answers"]["text"] if normalize_answer(x)]
        golds[record["id"]] = texts or [""]
    if not golds:
        raise ValueError("`references` must have at least one question. Received: none")
    return golds


def _check_complete(name: str, golds: Mapping[str, Any], values: Mapping) -> None:
    missing = [i for i in golds if i not in values]
    if missing:
        raise ValueError(
            f"`{name}` must have every question; {len(missing)} of {len(golds)} are "
            f"missing. Received: none for {missing[:3]}"
        )
    for i in golds if name == "predictions" else ():
        if not isinstance(values[i], str):
            raise TypeError(
                f"`predictions` must be strings. Received: {values[i]!r} for {i!r}"
            )


def _exact(gold: str, prediction: str) -> float:
    return float(normalize_answer(gold) == normalize_answer(prediction))


def _f1(gold: str, prediction: str) -> float:
    given = normalize_answer(gold).split()
    predicted = normalize_answer(prediction).split()
    if not given or not predicted:
        return float(given == predicted)
    common = (Counter(given) & Counter(predicted)).total()
    return 2 * common / (len(given) + len(predicted))


def _means(
    exact: Mapping[str, float], f1: Mapping[str, float], ids: Iterable[str]
) -> dict[str, float]:
    ids = list(ids)
    means = {
        name: 100 * sum(scores[i] for i in ids) / max(len(ids), 1)
        for name, scores in (("exact", exact), ("f1", f1))
    }
    return {**means, "total": len(ids)}


def _best(
    scores: Mapping[str, float],
    no_answer_scores: Mapping[str, float],
    unanswered: set[str],
) -> tuple[float, float]:
    """Returns the best mean score and the no-answer threshold that gives it."""
    total = best = float(len(unanswered))
    threshold = -math.inf
    ids = sorted(scores, key=lambda i: no_answer_scores[i])
    for rank, i in enumerate(ids, 1):
        total += scores[i] - (i in unanswered)
        last = rank == len(ids) or no_answer_scores[ids[rank]] > no_answer_scores[i]
        if last and total > best:
            best, threshold = total, no_answer_scores[i]
    return 100 * best / len(scores), float(threshold)

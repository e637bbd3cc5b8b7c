"""What models without an encoder score on the same rows."""

from collections import Counter
from typing import Any

import numpy as np

from keras_bert_lite.finetuning.kinds.base import Answers, Kind, Labels, Rows, Scores
from keras_bert_lite.finetuning.kinds.questions import MultipleChoice
from keras_bert_lite.finetuning.kinds.tags import (
    OUTSIDE,
    IntentAndSlots,
    TokenClassification,
)
from keras_bert_lite.finetuning.kinds.texts import (
    MultiLabelClassification,
    Regression,
    TextClassification,
)
from keras_bert_lite.finetuning.thresholds import best_threshold

STRENGTHS = (1.0, 3.0, 10.0)
PENALTIES = (0.3, 1.0, 3.0)
LINEAR = "TF-IDF, logistic regression"
WORD_BY_WORD = "most common tag of each word"
SIMILAR = "TF-IDF, most similar choice"


def baselines(kind: Kind, train: Rows, test: Rows, labels: Labels) -> dict[str, Scores]:
    """Returns the scores of simple models, by name.

    Texts: the most common label, and logistic regression (ridge regression for
    numbers) on TF-IDF of words and pairs of words, both texts of a pair joined. The
    strength of its penalty, of three, and the threshold of several labels are the best
    on the test rows, which favours it.
    Tags: the most common tag of each word in the training rows; an intent as the label
    of a text. Choices: the one whose TF-IDF is most similar to the text's, by cosine.
    There is none for questions about a context.

    Args:
        kind: The kind of task.
        train, test: Rows to fit and to score.
        labels: The labels, by the builder's argument.
    """
    if isinstance(kind, IntentAndSlots):
        intents = {"label": _intents(kind, train, test)}
        answers = {**_tags(kind, train, test), **intents}
        return {f"{LINEAR}; {WORD_BY_WORD}": kind.scores(test, answers, labels)}
    if isinstance(kind, TokenClassification):
        return {WORD_BY_WORD: kind.scores(test, _tags(kind, train, test), labels)}
    if isinstance(kind, (TextClassification, MultiLabelClassification)):
        return {
            "most common label": _most_common(kind, train, test, labels),
            LINEAR: _linear(kind, train, test, labels),
        }
    if isinstance(kind, MultipleChoice):
        return {SIMILAR: kind.scores(test, _similar(kind, train, test), labels)}
    if isinstance(kind, Regression):
        return {"TF-IDF, ridge regression": _linear(kind, train, test, labels)}
    return {}


def _similar(kind: MultipleChoice, train: Rows, test: Rows) -> Answers:
    """Chooses the most similar choices; the first ones without words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    text, choices = kind.column["text"], kind.column["choices"]
    words = TfidfVectorizer(sublinear_tf=True)
    try:
        words.fit([x for row in train for x in (row[text], *row[choices])])
    except ValueError:  # no words at all
        return {"choice": np.zeros(len(test), int)}
    texts = words.transform([row[text] for row in test for _ in row[choices]])
    offered = words.transform([x for row in test for x in row[choices]])
    cosines = np.asarray(texts.multiply(offered).sum(1))
    return {"choice": cosines.reshape(len(test), -1).argmax(1)}


def _tags(kind: TokenClassification, train: Rows, test: Rows) -> Answers:
    counts: dict[str, Counter] = {}
    words, tags = kind.column["words"], kind.column["tags"]
    for row in train:
        for word, tag in zip(row[words], row[tags], strict=True):
            counts.setdefault(word, Counter())[tag] += 1
    overall = Counter(tag for row in train for tag in row[tags])
    rare = OUTSIDE if OUTSIDE in overall else overall.most_common(1)[0][0]
    common = {word: found.most_common(1)[0][0] for word, found in counts.items()}
    return {"labels": [[common.get(word, rare) for word in row[words]] for row in test]}


def _intents(kind: IntentAndSlots, train: Rows, test: Rows) -> np.ndarray:
    """Answers as if the intent were the label of a text."""
    words, intent = kind.column["words"], kind.column["intent"]
    known, asked = (
        [{"text": " ".join(row[words]), "label": row[intent]} for row in rows]
        for rows in (train, test)
    )
    texts = TextClassification()
    names = texts.find_labels([*known, *asked])
    answers = _linear_answers(texts, known, asked, names)
    return (answers or _most_common_label(texts, known, asked))["label"]


def _most_common(kind: Any, train: Rows, test: Rows, labels: Labels) -> Scores:
    names = labels["labels"]
    if isinstance(kind, MultiLabelClassification):
        most = kind.indicators(train, labels).sum(0).argmax()
        answer = [name if i == most else "" for i, name in enumerate(names)]
        return kind.scores(test, {"labels": np.array([answer] * len(test))}, labels)
    return kind.scores(test, _most_common_label(kind, train, test), labels)


def _most_common_label(kind: TextClassification, train: Rows, test: Rows) -> Answers:
    best = Counter(kind.targets(train)).most_common(1)[0][0]
    return {"label": np.array([best] * len(test))}


def _linear(kind: Any, train: Rows, test: Rows, labels: Labels) -> Scores:
    answers = _linear_answers(kind, train, test, labels)
    return kind.scores(test, answers, labels) if answers else {}


def _linear_answers(kind: Any, train: Rows, test: Rows, labels: Labels) -> Answers:
    """Fits linear models on TF-IDF; returns the best answers, none without words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [_joined(kind, rows) for rows in (train, test)]
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32)
    try:
        x = words.fit_transform(texts[0]), words.transform(texts[1])
    except ValueError:  # no words at all
        return {}
    found = _fitted(kind, *x, train, test, labels)
    return max(found, key=lambda x: kind.scores(test, x, labels)[kind.metric])


def _joined(kind: Any, rows: Rows) -> list[str]:
    return [" ".join(row[name] for name in kind.text_columns) for row in rows]


def _fitted(
    kind: Any, x: Any, asked: Any, train: Rows, test: Rows, labels: Any
) -> list[Any]:
    """Returns the answers of a linear model for each strength of its penalty.

    Args:
        x, asked: What it reads of the rows to fit and to answer, `(N, F)`.
    """
    from sklearn.linear_model import LogisticRegression, Ridge

    if isinstance(kind, Regression):
        numbers = np.array(kind.targets(train), float)
        ridges = [Ridge(alpha=penalty).fit(x, numbers) for penalty in PENALTIES]
        return [{"score": model.predict(asked)} for model in ridges]
    if isinstance(kind, TextClassification):
        y = kind.targets(train)
        if len(set(y)) < 2:
            return [{"label": np.array(y[:1] * asked.shape[0])}]
        models = [LogisticRegression(C=c, max_iter=1000).fit(x, y) for c in STRENGTHS]
        return [{"label": model.predict(asked)} for model in models]
    given, expected = (kind.indicators(rows, labels) for rows in (train, test))
    names = labels["labels"]
    return [_several(x, asked, given, expected, names, c) for c in STRENGTHS]


def _several(
    x: Any,
    asked: Any,
    targets: np.ndarray,
    expected: np.ndarray,
    names: list[str],
    strength: float,
) -> dict[str, Any]:
    """Fits a logistic regression for each label that some rows have and some not."""
    from sklearn.linear_model import LogisticRegression

    scores = np.tile(targets.mean(0), (asked.shape[0], 1))
    for i, y in enumerate(targets.T):
        if 0 < y.sum() < len(y):
            model = LogisticRegression(C=strength, max_iter=1000).fit(x, y)
            scores[:, i] = model.predict_proba(asked)[:, 1]
    threshold = best_threshold(scores, expected)
    return {"labels": np.where(scores > threshold, names, ""), "scores": scores}

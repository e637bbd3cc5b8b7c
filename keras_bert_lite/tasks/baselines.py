"""Simple models without an encoder, which a fine-tuned one must beat.

Each function fits its model to rows and returns answers to others. Where there are
several strengths of a penalty, or a threshold, `score` chooses, which favours the
baseline. Without any words there are no answers.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_bert_lite.tagging import OUTSIDE
from keras_bert_lite.training.bm25 import BM25
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.row_formats import Labels, Rows
from keras_bert_lite.training.scores.scorer import Answers
from keras_bert_lite.training.scores.sentences import FOUND, second_texts
from keras_bert_lite.training.scores.texts import best_threshold, indicators, targets

# Fits rows, answers others; by labels, and the score of answers that decides.
Baseline = Callable[[Rows, Rows, Labels, Callable[[Answers], float]], Answers]
STRENGTHS = (1.0, 3.0, 10.0)
PENALTIES = (0.3, 1.0, 3.0)


def most_common_label(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """Answers every text with the most common label."""
    best = Counter(targets(train)).most_common(1)[0][0]
    return {"label": np.array([best] * len(test))}


def most_common_labels(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """Answers every text with the most common label alone, of several."""
    names = labels["labels"]
    most = indicators(train, labels).sum(0).argmax()
    answer = [name if i == most else "" for i, name in enumerate(names)]
    return {"labels": np.array([answer] * len(test))}


def linear_label(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """Logistic regression on TF-IDF of words and pairs of words."""
    from sklearn.linear_model import LogisticRegression

    y = targets(train)
    x = _tf_idf(train, test)
    if x is None or len(set(y)) < 2:
        return {"label": np.array(y[:1] * len(test))} if x else {}
    models = (LogisticRegression(C=c, max_iter=1000).fit(x[0], y) for c in STRENGTHS)
    return max(({"label": model.predict(x[1])} for model in models), key=score)


def linear_labels(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """Logistic regression on TF-IDF for each label that some rows have and some not."""
    from sklearn.linear_model import LogisticRegression

    x = _tf_idf(train, test)
    if x is None:
        return {}
    known, asked = (indicators(rows, labels) for rows in (train, test))

    def answers(strength: float) -> Answers:
        scores = np.tile(known.mean(0), (len(test), 1))
        for i, y in enumerate(known.T):
            if 0 < y.sum() < len(y):
                model = LogisticRegression(C=strength, max_iter=1000).fit(x[0], y)
                scores[:, i] = model.predict_proba(x[1])[:, 1]
        threshold = best_threshold(scores, asked)
        named = np.where(scores > threshold, labels["labels"], "")
        return {"labels": named, "scores": scores}

    return max(map(answers, STRENGTHS), key=score)


def linear_number(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """Ridge regression on TF-IDF of words and pairs of words."""
    from sklearn.linear_model import Ridge

    x = _tf_idf(train, test)
    if x is None:
        return {}
    y = np.array(targets(train), float)
    models = (Ridge(alpha=penalty).fit(x[0], y) for penalty in PENALTIES)
    return max(({"score": model.predict(x[1])} for model in models), key=score)


def most_common_tags(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """Answers each word with its most common tag; unknown words are outside."""
    counts: dict[str, Counter] = {}
    for row in train:
        for word, tag in zip(row["words"], row["tags"], strict=True):
            counts.setdefault(word, Counter())[tag] += 1
    overall = sum(counts.values(), Counter())
    rare = OUTSIDE if OUTSIDE in overall else overall.most_common(1)[0][0]
    common = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    return {"labels": [[common.get(x, rare) for x in row["words"]] for row in test]}


def intent_and_common_tags(
    train: Rows, test: Rows, labels: Labels, score: Any
) -> Answers:
    """The intent as the label of a text, and the most common tag of each word."""
    known, asked = (
        [{"text": " ".join(row["words"]), "label": row["intent"]} for row in rows]
        for rows in (train, test)
    )
    right = np.array(targets(asked))

    def accuracy(answers: Answers) -> float:
        return float(np.mean(answers["label"] == right))

    intents = linear_label(known, asked, labels, accuracy)
    intents = intents or most_common_label(known, asked, labels, accuracy)
    return {**most_common_tags(train, test, labels, score), **intents}


def most_similar_choice(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """The choice whose TF-IDF is nearest to the text's; the first without words."""
    known = [x for row in train for x in (row["text"], *row["choices"])]
    texts = [row["text"] for row in test for _ in row["choices"]]
    cosines = _tf_idf_cosines(known, texts, [x for row in test for x in row["choices"]])
    if cosines is None:
        return {"choice": np.zeros(len(test), int)}
    return {"choice": cosines.reshape(len(test), -1).argmax(1)}


def bm25(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """The order of BM25, by the words of the training rows' candidates."""
    words = BM25([text for row in train for text in row["candidates"]])
    scores = (words.scores(row["query"], row["candidates"]) for row in test)
    return {"order": [np.argsort(-x, kind="stable") for x in scores]}


def bm25_pairs(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """The order of BM25 of all second texts."""
    words = BM25(second_texts(test))
    return {"order": words.rank([row["text"] for row in test], FOUND)[0]}


def bm25_triplets(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """The scores of BM25, by the words of the training rows' second texts."""
    words = BM25(second_texts(train))
    scores = [words.scores(x["text"], [x["text_pair"], x["negative"]]) for x in test]
    return {"similarity": np.array(scores)}


def tf_idf_similarity(train: Rows, test: Rows, labels: Labels, score: Any) -> Answers:
    """The cosine of the TF-IDF of words; without words none."""
    names = ("text", "text_pair")
    known = [row[name] for row in train for name in names]
    cosines = _tf_idf_cosines(known, *([row[x] for row in test] for x in names))
    return {} if cosines is None else {"similarity": cosines[:, None]}


def _tf_idf_cosines(
    known: list[str], first: list[str], second: list[str]
) -> np.ndarray | None:
    """Returns the cosines of pairs `(N,)`, by the words of known texts.

    Without words it is `None`.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True)
    try:
        words.fit(known)
    except ValueError:  # no words at all
        return None
    products = words.transform(first).multiply(words.transform(second))
    return np.asarray(products.sum(1)).ravel()


def _tf_idf(train: Rows, test: Rows) -> tuple[Any, Any] | None:
    """Returns what linear models read of rows, `(N, F)` each; `None` without words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [[_text(row) for row in rows] for rows in (train, test)]
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32)
    try:
        return words.fit_transform(texts[0]), words.transform(texts[1])
    except ValueError:  # no words at all
        return None


def _text(row: Record) -> str:
    return " ".join(row[name] for name in ("text", "text_pair") if name in row)

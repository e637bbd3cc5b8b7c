"""BM25: documents ranked by the words of a query, the baseline of every search."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

WORD = r"(?u)\b\w+\b"  # in lower case
CHUNK = 64  # queries whose scores of all documents are in memory at once


class BM25:
    """Scores documents by the words that they share with a query.

    `sum_w idf(w) f (k1 + 1) / (f + k1 (1 - b + b l / L))` over the words w of a query,
    with the frequency f of the word in the document, the document's length l in words
    and the mean length L, and `idf(w) = log(1 + (N - n + 0.5) / (n + 0.5))` if n of the
    N documents have the word. Words are runs of letters and digits in lower case.

    Args:
        texts: The documents.
        k1: How much a word counts that occurs again.
        b: How much a document's length counts, from 0 to 1.

    Reference: [Robertson and Zaragoza, 2009](https://doi.org/10.1561/1500000019),
    section 3; the `idf` is Lucene's, which is never negative.
    """

    def __init__(self, texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> None:
        from sklearn.feature_extraction.text import CountVectorizer  # slow to import

        self._k1, self._b = k1, b
        self._words = CountVectorizer(token_pattern=WORD, dtype=np.float32)
        try:
            counts = self._words.fit_transform(texts)
        except ValueError:  # no words at all
            self._words.set_params(vocabulary=["\0"])
            counts = self._words.transform(texts)
        lengths = np.asarray(counts.sum(1)).ravel()
        self._mean = max(float(lengths.mean()), 1.0)
        having = np.asarray((counts > 0).sum(0)).ravel()
        self._idf = np.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        self._documents = self._weights(counts, lengths)

    def weights(self) -> tuple[list[str], Any]:
        """Returns the words, and what each adds to a text's score, sparse `(N, V)`."""
        return self._words.get_feature_names_out().tolist(), self._documents

    def all_scores(self, queries: Sequence[str]) -> Iterator[np.ndarray]:
        """Yields the scores of all documents for each query, `(N,)`."""
        for start in range(0, len(queries), CHUNK):
            words = self._words.transform(queries[start : start + CHUNK])
            yield from (words @ self._documents.T).toarray()

    def rank(self, queries: Sequence[str], k: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the k best documents of each query and their scores, `(Q, k)`.

        Equal scores are in the order of the documents.
        """
        k = min(k, self._documents.shape[0])
        places = np.zeros((len(queries), k), int)
        scores = np.zeros((len(queries), k), np.float32)
        for i, every in enumerate(self.all_scores(queries)):
            places[i] = np.argsort(-every, kind="stable")[:k]
            scores[i] = every[places[i]]
        return places, scores

    def scores(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """Returns the scores of other texts, with the statistics of the documents."""
        split = self._words.build_analyzer()
        lengths = np.array([len(split(x)) for x in texts])  # unknown words too
        weights = self._weights(self._words.transform(texts), lengths)
        return (weights @ self._words.transform([query]).T).toarray()[:, 0]

    def _weights(self, counts: Any, lengths: np.ndarray) -> Any:
        """Returns what each word of a document adds to a score, `(N, words)`."""
        counts = counts.tocsr().copy()
        slack = self._k1 * (1 - self._b + self._b * lengths / self._mean)
        slack = np.repeat(slack, np.diff(counts.indptr))
        gain = counts.data * (self._k1 + 1) / (counts.data + slack)
        counts.data = gain * self._idf[counts.indices]
        return counts

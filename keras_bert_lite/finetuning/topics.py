"""Batches of rows about one topic, of which in-batch negatives teach more."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from keras_bert_lite.training.data.distinct import Texts, places_of

BATCHES = 4  # of a topic, on average
MOST = 256  # topics
SAMPLED = 16_384  # rows by which topics are found
WIDTH = 64  # of a row's vector


def topic_batches(
    texts: Sequence[Texts], batch_size: int, seed: int
) -> Iterator[list[int]]:
    """Yields batches of places without end, most of them about one topic.

    No text occurs twice in a batch, and the batches of an epoch come in a random order.
    A text is a wrong answer to the other rows of its batch, and one about the same
    topic is harder to tell from the right answer than another. With few rows there is
    one topic.

    Args:
        texts: The texts at each place.
        batch_size: The number of places in a batch.
        seed: Of the topics and the orders.

    Raises:
        ValueError: If there is no such batch.

    Reference: [Hofstätter et al., 2021](https://arxiv.org/abs/2104.06967), topic-aware
    sampling; topics are clusters of TF-IDF vectors here.
    """
    rng = np.random.default_rng(seed)
    topics = topics_of(texts, len(texts) // (BATCHES * batch_size), seed)
    batches = places_of(texts, batch_size, _orders(topics, rng))
    count = max(1, len(texts) // batch_size)
    while True:
        epoch = list(itertools.islice(batches, count))
        yield from (epoch[i] for i in rng.permutation(count))


def _orders(topics: np.ndarray, rng: np.random.Generator) -> Iterator[list[int]]:
    """Yields orders in which the rows of a topic follow each other."""
    while True:
        order = rng.permutation(len(topics))
        places = rng.permutation(topics.max() + 1)[topics[order]]
        yield order[np.argsort(places, kind="stable")].tolist()


def topics_of(texts: Sequence[Texts], count: int, seed: int) -> np.ndarray:
    """Returns the topic of each row, from 0, `(N,)`; without shared words, it is 0.

    Args:
        texts: The texts of each row.
        count: The number of topics.
        seed: Of the rows by which they are found, and of k-means.
    """
    topics = np.zeros(len(texts), int)
    count = min(count, MOST)
    if count < 2:
        return topics
    from sklearn.cluster import MiniBatchKMeans  # slow to import
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    joined = [" ".join(sorted(x for x in row if isinstance(x, str))) for row in texts]
    order = np.random.default_rng(seed).permutation(len(joined))
    sample = [joined[i] for i in order[:SAMPLED]]
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    try:
        matrix = words.fit_transform(sample)
    except ValueError:  # no words, or none that rows share
        return topics
    width = min(WIDTH, matrix.shape[1] - 1)
    if width < 1:
        return topics
    clusters = make_pipeline(
        TruncatedSVD(width, random_state=seed),
        Normalizer(),
        MiniBatchKMeans(count, random_state=seed, n_init=3),
    ).fit(matrix)
    for start in range(0, len(joined), SAMPLED):
        part = slice(start, start + SAMPLED)
        topics[part] = clusters.predict(words.transform(joined[part]))
    return topics

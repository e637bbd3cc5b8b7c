"""The nearest of many vectors, exactly or by inverted lists, in stock operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf

BLOCK = 65_536  # vectors that are compared at once, in float32
PRECISIONS = ("float32", "float16", "int8")
LARGEST = 127  # of int8
SAMPLED = 100  # vectors for each list, by which the lists' centres are found


def vector_table(
    vectors: np.ndarray, precision: str = "float32", lists: int = 1, seed: int = 0
) -> dict[str, np.ndarray]:
    """Returns what `Vectors` is made of.

    Args:
        vectors: Vectors of length 1, float32 `(N, H)`.
        precision: How they are stored: `"float32"`, `"float16"` or `"int8"`. In int8,
            each is divided by its scale, 1/127 of its largest absolute value.
        lists: How many lists they are sorted into, each around a centre that k-means
            finds; 1: the search is exact.
        seed: Of k-means.
    """
    blocks = [slice(i, i + BLOCK) for i in range(0, len(vectors), BLOCK)]
    centres = np.zeros((1, vectors.shape[1]), np.float32)
    nearest = np.zeros(len(vectors), np.int64)
    if lists > 1:
        centres = _centres(vectors, lists, seed)
        nearest = np.concatenate([(vectors[x] @ centres.T).argmax(1) for x in blocks])
    counts = np.bincount(nearest, minlength=lists)
    order = np.argsort(nearest, kind="stable")
    table = np.empty(vectors.shape, precision)
    scales = np.ones(len(vectors) if precision == "int8" else 0, np.float32)
    for block in blocks:
        part = vectors[order[block]]
        if precision == "int8":
            scales[block] = np.maximum(np.abs(part).max(1), 1e-12) / LARGEST
            part = np.rint(part / scales[block, None])
        table[block] = part
    # Of the vectors as they are stored, whose cosines these standardize.
    width = vectors.shape[1]
    mean, products = np.zeros(width), np.zeros((width, width))
    for block in blocks:
        stored = _floats(table[block], scales[block]).astype(np.float64)
        mean += stored.sum(0) / len(table)
        products += stored.T @ stored / len(table)
    return {
        "table": table,
        "scales": scales,
        "positions": order.astype(np.int32),
        "rows": np.argsort(order).astype(np.int32),
        "centres": centres,
        "starts": np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        "mean": mean.astype(np.float32),
        "covariance": (products - np.outer(mean, mean)).astype("f4"),
    }


def float_vectors(table: dict[str, np.ndarray]) -> np.ndarray:
    """Returns the vectors of a `vector_table` in their order, float32 `(N, H)`."""
    return _floats(table["table"], table["scales"])[table["rows"]]


def _floats(table: np.ndarray, scales: np.ndarray) -> np.ndarray:
    vectors = table.astype(np.float32)
    return vectors * scales[:, None] if len(scales) else vectors


def _centres(vectors: np.ndarray, lists: int, seed: int) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans  # slow to import

    if len(vectors) < lists:  # one list holds them all, and comes first
        return np.repeat(vectors[:1], lists, 0)
    sample = vectors
    if len(vectors) > SAMPLED * lists:
        rng = np.random.default_rng(seed)
        sample = vectors[rng.choice(len(vectors), SAMPLED * lists, replace=False)]
    found = MiniBatchKMeans(lists, random_state=seed, n_init=1, batch_size=4096)
    centres = found.fit(sample).cluster_centers_.astype(np.float32)
    return centres / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)


class Vectors:
    """Finds the nearest of N vectors to a query, by their cosine.

    Args:
        variables: What `vector_table` returned, as variables whose first axis may have
            any length.
        probes: How many of the lists are searched; 0: all, which is exact.
    """

    def __init__(self, variables: dict[str, Any], probes: int = 0) -> None:
        self._of, self._probes = variables, probes
        self._scaled = variables["table"].dtype == tf.int8

    def nearest(self, queries: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the positions of the nearest vectors, the best first, and cosines.

        Args:
            queries: Vectors of length 1, float32 `(B, H)`.
            count: How many are returned. Where fewer are found, the position is -1 and
                the cosine -inf.

        Returns:
            int32 and float32, `(B, count)` each.
        """
        rows, cosines = (
            self._in_lists(queries, count)
            if self._probes
            else self._in_all(queries, count)
        )
        known = self._taken("positions", tf.maximum(rows, 0))
        return tf.where(rows < 0, -1, known), cosines

    def cosines(self, query: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
        """Returns the cosines of a query `(H,)` with some texts' vectors, `(C,)`."""
        return self._cosines(query, self._taken("rows", positions))

    def standardized(self, query: tf.Tensor, cosines: tf.Tensor) -> tf.Tensor:
        """Returns by how many standard deviations of all texts cosines exceed theirs.

        The mean and the deviation follow from the mean vector and the covariance, so
        that not all texts are read.
        """
        mean = tf.reduce_sum(query * self._of["mean"])
        spread = tf.linalg.matvec(self._of["covariance"], query)
        deviation = tf.sqrt(tf.maximum(tf.reduce_sum(query * spread), 0.0))
        return tf.math.divide_no_nan(cosines - mean, deviation)

    def _in_all(self, queries: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
        """Compares blocks one after the other, so that memory is bounded."""
        total, batch = tf.shape(self._of["table"])[0], tf.shape(queries)[0]

        def next_block(start, rows, cosines):
            end = tf.minimum(start + BLOCK, total)
            block = tf.cast(self._of["table"][start:end], tf.float32)
            found = tf.matmul(queries, block, transpose_b=True)
            if self._scaled:
                found *= self._of["scales"][start:end]
            best = tf.math.top_k(found, tf.minimum(count, end - start))
            rows = tf.concat([rows, best.indices + start], 1)
            cosines = tf.concat([cosines, best.values], 1)
            cosines, places = tf.math.top_k(cosines, count)
            return end, tf.gather(rows, places, batch_dims=1), cosines

        none = (tf.fill([batch, count], -1), tf.fill([batch, count], -np.inf))
        shape = tf.TensorShape([None, count])
        _, rows, cosines = tf.while_loop(
            lambda start, *_: start < total,
            next_block,
            (0, *none),
            shape_invariants=(tf.TensorShape([]), shape, shape),
            parallel_iterations=1,
        )
        return rows, cosines

    def _in_lists(self, queries: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
        likeness = tf.matmul(queries, self._of["centres"], transpose_b=True)
        lists = tf.math.top_k(likeness, self._probes).indices

        def of_one(pair):
            query, chosen = pair
            starts, ends = (self._taken("starts", chosen + i) for i in range(2))
            cosines = self._of_slices(query, starts, ends)
            return best_of(tf.ragged.range(starts, ends).flat_values, cosines, count)

        specs = (
            tf.TensorSpec([count], tf.int32),
            tf.TensorSpec([count], tf.float32),
        )
        return tf.map_fn(of_one, (queries, lists), fn_output_signature=specs)

    def _of_slices(
        self, query: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
    ) -> tf.Tensor:
        """Returns the cosines of the rows from each start to its end, joined.

        A slice of a table is no copy; gathering its rows would be one.
        """

        def next_slice(i, found):
            vectors = tf.cast(self._of["table"][starts[i] : ends[i]], tf.float32)
            cosines = tf.linalg.matvec(vectors, query)
            if self._scaled:
                cosines *= self._of["scales"][starts[i] : ends[i]]
            return i + 1, found.write(i, cosines)

        found = tf.TensorArray(tf.float32, self._probes, infer_shape=False)
        begun = (0, found)
        _, found = tf.while_loop(lambda i, _: i < self._probes, next_slice, begun)
        return found.concat()

    def _cosines(self, query: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        vectors = tf.cast(self._taken("table", rows), tf.float32)
        cosines = tf.linalg.matvec(vectors, query)
        if self._scaled:
            cosines *= self._taken("scales", rows)
        return cosines

    def _taken(self, name: str, rows: tf.Tensor) -> tf.Tensor:
        return rows_of(self._of[name], rows)


def rows_of(variable: Any, rows: tf.Tensor) -> tf.Tensor:
    """Returns some rows of a variable.

    Once a variable was given to `tf.gather` itself, TensorFlow copies all of it each
    time that it is read in another way, if only for its shape.
    """
    return tf.gather(variable.read_value(), rows)


def best_of(
    names: tf.Tensor, scores: tf.Tensor, count: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the names with the highest scores, filled up with -1 and -inf.

    Args:
        names: int32 `(C,)`.
        scores: float32 `(C,)`; names with -inf are left out.
        count: How many are returned.
    """
    names = tf.concat([names, tf.fill([count], -1)], 0)
    scores = tf.concat([scores, tf.fill([count], -np.inf)], 0)
    best = tf.math.top_k(scores, count)
    chosen = tf.gather(names, best.indices)
    return tf.where(best.values == -np.inf, -1, chosen), best.values

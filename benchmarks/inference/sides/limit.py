"""How fast the machine multiplies matrices: what no fp32 side can beat."""

import time

from benchmarks.inference.models import config, matmul_flops
from benchmarks.inference.sides.base import Side, use_threads
from benchmarks.inference.worker import THREADS
from benchmarks.inference.workloads import FULL_ROWS, Work

REPEATS = 6


def best_seconds(call, repeats: int = REPEATS) -> float:
    """Returns the shortest of some calls."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def matmul_rate(tokens: int, width: int, inner: int) -> float:
    """Returns fp32 operations a second of TensorFlow's `matmul`.

    Over the products of an encoder block in their proportion: four of
    `(tokens, width) x (width, width)`, one into `inner` and one back.
    """
    import tensorflow as tf

    flops = seconds = 0.0
    for count, rows, columns in (
        (4, width, width),
        (1, width, inner),
        (1, inner, width),
    ):
        a, b = tf.random.normal((tokens, rows)), tf.random.normal((rows, columns))
        flops += count * 2.0 * tokens * rows * columns
        seconds += count * best_seconds(lambda a=a, b=b: tf.matmul(a, b))
    return flops / seconds


class MatrixProducts(Side):
    """Gives the seconds that a model's products need at the best rate of this turn.

    For full rows only.
    """

    def load(self):
        use_threads(THREADS)

    def seconds(self, way: str, work: Work) -> list[float]:
        raw = config(self.model)
        width, inner = raw["hidden_size"], raw["intermediate_size"]
        rows, length = len(work.batches[0]), FULL_ROWS["full"]
        rate = matmul_rate(rows * length, width, inner)
        return [matmul_flops(self.model, rows, length) / rate] * len(work.batches)

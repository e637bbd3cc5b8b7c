"""A product that TensorFlow gets wrong on some machines; it may crash the process.

`tf.matmul` of `(B, 1, S, D)` and `(1, D, M)` writes outside of its output, in builds
with oneDNN on some processors with AVX-512 (on others, it is right).

    python -m tests.layers.attention.broadcast_product; echo $?

prints 0 where the product is right. It depends on the machine, so no test runs it. Once
it is 0 everywhere, `scores_by_distance` needs no case of its own for one head.
"""

import sys

import numpy as np
import tensorflow as tf

GENERATOR = np.random.default_rng(0)


def main() -> int:
    x = GENERATOR.normal(size=(4, 1, 24, 8)).astype("float32")
    table = GENERATOR.normal(size=(1, 8, 48)).astype("float32")
    products = [tf.matmul(x, table).numpy() for _ in range(20)]
    return int(not all(np.allclose(y, x @ table, atol=1e-4) for y in products))


if __name__ == "__main__":
    sys.exit(main())

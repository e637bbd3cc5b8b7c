"""A product of TensorFlow that is wrong, for a process that may crash.

`tf.matmul` of `(B, 1, S, D)` and `(1, D, M)` writes outside of its output, in builds
with oneDNN on processors with AVX-512. The process ends with 0 if the product is right.
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

"""Calls from many threads at once."""

import concurrent.futures
import threading

import numpy as np


def check_in_threads(predict, texts, expected, calls=2, threads=16):
    """Checks what is predicted in many threads: for one text, or all in another order.

    Args:
        predict: From a list of texts to an array, a row for each.
        texts: The texts, whose answers differ.
        expected: Their values.
        calls: How often each thread calls.
        threads: The number of threads.
    """
    begin = threading.Barrier(threads)

    def repeat(thread):
        order = np.roll(np.arange(len(texts)), thread)
        order = order[:1] if thread % 2 else order
        begin.wait()
        for _ in range(calls):
            answers = predict([texts[i] for i in order])
            np.testing.assert_allclose(answers, expected[order], atol=1e-4)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(repeat, range(threads)))

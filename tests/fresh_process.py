"""A second process that knows saved models only through the package."""

import concurrent.futures
import functools
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import keras
import numpy as np

import keras_bert_lite  # noqa: F401  (registers the layers)


@functools.cache
def start() -> concurrent.futures.ProcessPoolExecutor:
    """Starts the process, once a session: importing Keras takes seconds."""
    executor = concurrent.futures.ProcessPoolExecutor(
        max_workers=1,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=watch_parent,
    )
    executor.submit(load_and_call)
    return executor


def watch_parent() -> None:
    """Ends this process when the tests are killed, which the pool does not see."""
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def call_saved(path: Path, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Returns the outputs of a saved model, as another process computes them."""
    return start().submit(load_and_call, str(path), inputs).result(timeout=300)


def predict_saved(path: Path, x: Any, eagerly: bool) -> dict[str, np.ndarray]:
    """Returns what a saved model predicts in another process, strings in."""
    return start().submit(load_and_predict, str(path), x, eagerly).result(timeout=300)


def load_and_predict(path: str, x: Any, eagerly: bool) -> dict[str, np.ndarray]:
    model = keras.saving.load_model(path)
    model.run_eagerly = eagerly
    return model.predict(x, verbose=0)


def load_and_call(
    path: str | None = None, inputs: dict[str, np.ndarray] | None = None
) -> list[np.ndarray]:
    if path is None:
        return []
    model = keras.saving.load_model(path)
    outputs = keras.tree.flatten(model(inputs, training=False))
    return [keras.ops.convert_to_numpy(x) for x in outputs]

"""Models that say what the tests want."""

import keras
import numpy as np


def says(name="logits", shape=(None,)):
    """A model whose output is its input."""
    inputs = keras.Input(shape)
    return keras.Model(inputs, {name: keras.layers.Identity()(inputs)})


def batched(*columns, size=7):
    """Batches of the columns: inputs, targets and, if any, weights."""
    rows = len(columns[0])
    return [tuple(x[i : i + size] for x in columns) for i in range(0, rows, size)]


def logits_of(classes, num_classes):
    """Logits whose largest one stands at the classes."""
    return np.eye(num_classes, dtype="float32")[classes]

"""Small inputs that the layer tests share."""

import numpy as np

HIDDEN = 8
STATES = np.random.default_rng(0).normal(size=(2, 5, HIDDEN)).astype("float32")
PADDING_MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "bool")
SEQUENCE_IDS = np.array([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]], "int32")
TOKEN_IDS = np.array([[2, 7, 3, 0, 0], [2, 5, 9, 4, 3]], "int32")
SEGMENT_IDS = np.array([[0, 0, 1, 0, 0], [0, 0, 0, 1, 1]], "int32")
POSITION_IDS = np.array([[0, 1, 0, 1, 2], [5, 4, 3, 2, 1]], "int32")

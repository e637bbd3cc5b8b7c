"""Inputs of models on ids."""

import numpy as np
import pytest

tensorflow_only = pytest.mark.tensorflow(reason="TensorFlow checks ids, on CPUs")


def ids(lengths=(5, 3), width=5) -> dict[str, np.ndarray]:
    """Random ids below 30, in rows of some real length and a common width."""
    generator = np.random.default_rng(3)
    mask = np.arange(width) < np.array(lengths)[:, None]
    token_ids = generator.integers(5, 30, size=mask.shape)
    segment_ids = np.arange(width) >= np.array(lengths)[:, None] // 2
    return {
        "token_ids": np.where(mask, token_ids, 0).astype("int32"),
        "segment_ids": np.where(mask, segment_ids, 0).astype("int32"),
        "padding_mask": mask,
    }


def padded(inputs: dict[str, np.ndarray], more: int) -> dict[str, np.ndarray]:
    """The same rows with more padding, of ids other than zero."""
    fill = {"token_ids": 7, "segment_ids": 1, "padding_mask": False}
    return {
        name: np.pad(x, ((0, 0), (0, more)), constant_values=fill[name])
        for name, x in inputs.items()
    }

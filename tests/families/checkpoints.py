"""Tiny checkpoints whose weights follow from the names of their tensors.

So a golden file need not hold weights: whoever knows the names and shapes of
the tensors can write the same checkpoint, with and without the reference.
"""

import hashlib
import json
import re

import keras
import numpy as np
import safetensors.numpy

import keras_bert_lite as kbl
from keras_bert_lite.models.encoder_model import encoder_of

NORMS = re.compile(r"(orm\d?|_ln)\.weight")


def weight(name, shape):
    """The value of a weight: random, but always the same for the same name."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    scale = 0.3 if len(shape) > 1 else 0.2
    offset = 1.0 if NORMS.search(name) else 0.0
    noise = np.random.default_rng(seed).normal(0, scale, shape)
    return (noise + offset).astype(np.float32)


def write(directory, configuration, shapes, scale=1.0):
    """Writes config.json and model.safetensors; `scale` multiplies the matrices."""
    tensors = {name: weight(name, tuple(shape)) for name, shape in shapes.items()}
    tensors = {name: x * scale if x.ndim > 1 else x for name, x in tensors.items()}
    safetensors.numpy.save_file(tensors, directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(configuration))
    return directory


def ids(padding_id, num_segments, choices=False, length=9):
    """Ids with padding on the right; none of the real tokens is the padding's."""
    rng = np.random.default_rng(5)
    shape = (2, 3, length) if choices else (3, length)
    tokens = rng.integers(4, 40, shape)
    mask = np.ones(shape, bool)
    mask[..., 1, 2 * length // 3 :] = False
    mask[..., 2, length // 3 :] = False
    segments = rng.integers(0, max(num_segments, 1), shape)
    return {
        "token_ids": np.where(mask, tokens, padding_id).astype(np.int32),
        "segment_ids": np.where(mask, segments, 0).astype(np.int32),
        "padding_mask": mask,
    }


def real(name, value, mask):
    """Returns the part of an output that stands at real tokens."""
    value = np.asarray(value)
    if mask.ndim == 3:  # choices: one score each
        return value
    if name.startswith("attentions"):
        return value.transpose(0, 2, 1, 3)[mask]
    return value[mask] if value.shape[:2] == mask.shape else value


def outputs(model, inputs):
    """Returns all that a model gives at real tokens, and its internals."""
    found = dict(model(inputs))
    if inputs["padding_mask"].ndim == 2:
        internals = kbl.with_hidden_states(encoder_of(model))(inputs)
        for name in ("hidden_states", "attentions"):
            for i, value in enumerate(internals[name]):
                found[f"{name}/{i}"] = value
    mask = inputs["padding_mask"]
    return {
        name: real(name, keras.ops.convert_to_numpy(value), mask)
        for name, value in found.items()
    }

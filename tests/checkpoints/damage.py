"""Encoders compared, and files damaged."""

import functools

import keras
import numpy as np

from tests import tiny


@functools.cache
def inputs():
    texts = [text for text in tiny.TEXTS if text]
    found = tiny.preprocessor()(texts)
    found = {name: keras.ops.convert_to_numpy(x) for name, x in found.items()}
    length = found["token_ids"].shape[1]
    found["segment_ids"] = (np.arange(length) >= 3) * found["padding_mask"].astype(int)
    return found


def outputs(model, of=None):
    values = model(of or inputs())
    return {name: keras.ops.convert_to_numpy(x) for name, x in values.items()}


def assert_close(ours, theirs, of=None):
    real = (of or inputs())["padding_mask"].astype(bool)
    if ours.shape[:2] == real.shape:
        ours, theirs = ours[real], theirs[real]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def assert_encoder(model, code):
    found = outputs(model)
    sequence = code.sequence_output(inputs())
    assert_close(found["sequence_output"], sequence)
    if "pooled_output" in found:
        assert_close(found["pooled_output"], code.pooled_output(sequence))


def damage(directory, end, change):
    (path,) = directory.glob(f"*{end}")
    content = bytearray(path.read_bytes())
    path.write_bytes(change(content))


def shortened(content):
    return content[: len(content) // 2]

"""The ranges of what the layers of an encoder read on calibration texts."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert_lite import layers
from keras_bert_lite._private import sublayers
from keras_bert_lite._progress_bar import progress_bar
from keras_bert_lite.serving.saved_model.other_encoder import (
    with_blocks,
    with_encoder,
)
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.text.inputs import PROMPT
from keras_bert_lite.text.text_files import BOM, BROKEN, opened

Texts = Sequence[str] | str | os.PathLike | None
FEWEST = 16  # different texts
BATCH = 32


class InputRange:
    """The range of the numbers that a layer was given.

    Attributes:
        low, high: The least and the largest of each column, `(K,)`.
    """

    def __init__(self) -> None:
        self.low: Any = np.inf
        self.high: Any = -np.inf

    def add(self, x: tf.Tensor) -> None:
        rows = x.numpy().reshape(-1, x.shape[-1])
        if len(rows):
            self.low = np.minimum(self.low, rows.min(0))
            self.high = np.maximum(self.high, rows.max(0))

    @property
    def largest(self) -> np.ndarray:
        """The largest absolute value of each column, `(K,)`."""
        return np.maximum(-self.low, self.high)


class RangeRecorder(keras.layers.Layer):
    """A dense layer that records the range of its inputs.

    Args:
        dense: The layer.

    Attributes:
        range: That range so far.
    """

    def __init__(self, dense: keras.layers.Dense) -> None:
        super().__init__(name=dense.name)
        self.dense, self.units = dense, dense.units
        self.range = InputRange()
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        self.range.add(x)
        return self.dense(x)


def calibrate(
    model: TextModel,
    encoder: layers.Encoder,
    blocks: list[layers.EncoderBlock],
    texts: Texts,
    verbose: int = 1,
) -> None:
    """Runs a model with other blocks on texts, eagerly.

    Args:
        model: A model made by `with_text`. If it takes several texts per row, each of
            `texts` stands beside the next one.
        encoder: Its encoder.
        blocks: Blocks in place of the encoder's, some of whose dense layers are
            `RangeRecorder`s.
        texts: Some hundred texts of the kind that will be answered, or a file with one
            a line, `.gz` or `.xz` if compressed.
        verbose: 1 shows a progress bar, 0 nothing.

    Raises:
        FileNotFoundError: If there is no such file.
        TypeError: If `texts` are not strings.
        ValueError: If there are too few different texts of more than a character, the
            file is damaged or not UTF-8, or the model's numbers are not finite.
    """
    texts = _checked_texts(texts)
    recording = with_encoder(model, encoder, with_blocks(encoder, blocks))
    bar = progress_bar(len(texts), bool(verbose), unit_name="text")
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        recording(_inputs(model, batch), training=False)
        bar.add(len(batch))
    for layer in sublayers(recording):
        recorder = isinstance(layer, RangeRecorder)
        if recorder and not np.isfinite(layer.range.largest).all():
            raise ValueError(
                "`model` must compute finite numbers on `calibration`. Received: "
                f"NaN or infinity in the input of {layer.dense.path}"
            )


def _checked_texts(calibration: Texts) -> list[str]:
    if calibration is None:
        raise ValueError(
            "`calibration` must be some hundred texts of the kind that will be "
            "answered, or a file with one per line. Received: None"
        )
    where = ""
    if isinstance(calibration, (str, os.PathLike)):
        texts, where = _read(Path(calibration)), f" in {os.fspath(calibration)}"
    else:
        texts = list(calibration)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(
                "`calibration` must be a list of texts, or a file of them. Received: "
                f"{text!r} in it"
            )
    different = len({text for text in texts if len(text.strip()) > 1})
    if different < FEWEST:
        raise ValueError(
            f"`calibration` must hold at least {FEWEST} different texts of more than a "
            f"character; some hundred are better. Received: {different}{where}"
        )
    return texts


def _read(path: Path) -> list[str]:
    """Returns the lines of a file, without the white space around them."""
    if not path.is_file():
        raise FileNotFoundError(
            f"`calibration` must be a file. Received: {os.fspath(path)!r}"
        )
    try:
        with opened(path) as file:
            lines = list(file)
    except BROKEN as error:
        raise ValueError(
            f"{path}: must be a whole compressed file. Received: {error}"
        ) from error
    texts = []
    for number, line in enumerate(lines, 1):
        line = line.removeprefix(BOM) if number == 1 else line
        try:
            texts.append(line.decode().strip())
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}:{number}: must be UTF-8. Received: {error.reason} at byte "
                f"{error.start}"
            ) from None
    return texts


def _inputs(model: TextModel, texts: list[str]) -> dict[str, tf.Tensor]:
    others = [*texts[1:], texts[0]]
    found = {}
    for i, (name, tensor) in enumerate(model.input.items()):
        rows: Any = others if i else texts
        if len(tensor.shape) == 2:
            rows = list(zip(texts, others, strict=True))
        if name == PROMPT:
            rows = [""] * len(texts)
        found[name] = tf.constant(rows)
    return found

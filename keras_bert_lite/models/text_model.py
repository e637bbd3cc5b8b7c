"""The string-in form of a model."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import encoder_layers, encoder_of
from keras_bert_lite.text.answers import LabelAnswer
from keras_bert_lite.text.packing import Preprocessor, as_batch, named_texts

HALF_FLOATS = ("bfloat16", "float16")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TextModel(keras.Model):
    """A functional model whose inputs are strings.

    Made by `with_text`. It differs from a plain `keras.Model` in one thing:
    `predict` and calls take Python strings, which plain Keras refuses.
    """

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(self._strings(inputs), *args, **kwargs)

    def predict(
        self, x: Any, batch_size: int | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Returns the outputs for strings, as numpy arrays by name.

        Args:
            x: A list of strings; for a model of pairs a dictionary of two
                lists, `text` and `text_pair`, or a tuple of them; or a
                `tf.data.Dataset` of batches of these.
            batch_size: Rows a batch, 32 if `None`.
            *args, **kwargs: As in `keras.Model.predict`.

        Returns:
            A dictionary of arrays, numbers as float32. Outputs with a sequence
            axis are padded with zeros to the longest batch; they are computed
            without progress bar and callbacks.
        """
        if isinstance(x, tf.data.Dataset):
            outputs = super().predict(x, batch_size, *args, **kwargs)
            return tf.nest.map_structure(_as_array, outputs)
        x = self._strings(x)
        size = batch_size or 32
        if len(next(iter(x.values()))) > size and self._has_sequence_outputs():
            return self._predict_sequences(x, size)
        if len(next(iter(x.values()))) == 0:
            return tf.nest.map_structure(_as_array, self(x))
        outputs = super().predict(x, size, *args, **kwargs)
        return tf.nest.map_structure(_as_array, outputs)

    def _has_sequence_outputs(self) -> bool:
        return any(None in output.shape[1:] for output in self.outputs)

    def _predict_sequences(self, x: dict[str, tf.Tensor], size: int) -> Any:
        """Joins batches of different length, which Keras does element by element."""
        rows = len(next(iter(x.values())))
        batches = [
            self.predict_on_batch({name: v[i : i + size] for name, v in x.items()})
            for i in range(0, rows, size)
        ]
        return tf.nest.map_structure(lambda *parts: _joined(parts), *batches)

    def _strings(self, inputs: Any) -> dict[str, Any]:
        """Returns batches of strings by name, exactly those that the model takes."""
        named = named_texts(inputs)
        if set(named) != set(self.input):
            raise ValueError(
                f"The model takes {sorted(self.input)}. Received: {sorted(named)}"
            )
        if any(isinstance(x, keras.KerasTensor) for x in named.values()):
            return named
        return {name: as_batch(x, name) for name, x in named.items()}


def with_text(
    model: keras.Model, preprocessor: Preprocessor, pairs: bool = False
) -> TextModel:
    """Puts a preprocessor before a model and readable answers behind it.

    Args:
        model: An encoder, or a model made by a task's builder.
        preprocessor: What turns strings into the model's inputs.
        pairs: Whether the model takes pairs of texts.

    Returns:
        A model with the input `text` and, for pairs, `text_pair`: strings of
        shape `(B,)`. A classifier returns `label` (string) and `scores`; an
        encoder what it returns on ids. `predict` and calls take Python strings.

    Raises:
        NotImplementedError: Under another backend than TensorFlow.
        TypeError: If `preprocessor` is not a `Preprocessor`.
        ValueError: If the preprocessor can make rows or ids that the model has
            no embeddings for, or the model's outputs have no names.
    """
    if not isinstance(preprocessor, Preprocessor):
        raise TypeError(
            f"`preprocessor` must be a `Preprocessor`. Received: {preprocessor!r}"
        )
    preprocessor.require_tensorflow()
    _check_fit(model, preprocessor)
    names = ("text", "text_pair") if pairs else ("text",)
    inputs = {name: keras.Input((), dtype="string", name=name) for name in names}
    outputs = model(preprocessor(inputs))
    if not isinstance(outputs, dict):
        raise ValueError(
            "`model` must return a dictionary of outputs, whose names the SavedModel "
            f"takes over. Received: {outputs!r}"
        )
    return TextModel(inputs, answers(model, outputs), name=f"{model.name}_with_text")


def answers(model: keras.Model, outputs: dict[str, Any]) -> dict[str, Any]:
    """Turns a model's values on ids into what a client reads."""
    for layer in model.layers:
        if not isinstance(layer, layers.ClassificationHead) or layer.multi_label:
            continue
        if "logits" in outputs and len(outputs["logits"].shape) == 2:
            return LabelAnswer(layer.labels, name="answer")(outputs["logits"])
    return outputs


def _check_fit(model: keras.Model, preprocessor: Preprocessor) -> None:
    embeddings = encoder_layers(encoder_of(model))[0]
    longest, rows = preprocessor.sequence_length, embeddings.max_sequence_length
    if rows is not None and (longest is None or longest > rows):
        raise ValueError(
            "`preprocessor` must have a `sequence_length` of at most the model's "
            f"max_sequence_length={rows}. Received: sequence_length={longest}"
        )
    size = preprocessor.tokenizer.vocabulary_size()
    if size > embeddings.vocabulary_size:
        raise ValueError(
            f"The tokenizer has {size} pieces, but the model embeds only "
            f"{embeddings.vocabulary_size}: they do not belong together."
        )


def _as_array(value: Any) -> np.ndarray:
    if isinstance(value, tf.RaggedTensor):
        value = value.to_tensor()
    array = np.asarray(value)
    if array.dtype == object:
        return np.char.decode(array.astype(bytes), "utf-8")
    return array.astype(np.float32) if array.dtype.name in HALF_FLOATS else array


def _joined(parts: Sequence[Any]) -> np.ndarray:
    arrays = [_as_array(part) for part in parts]
    shape = np.max([array.shape[1:] for array in arrays], axis=0, initial=0)
    padded = [
        np.pad(
            x, [(0, 0), *((0, n - m) for n, m in zip(shape, x.shape[1:], strict=True))]
        )
        if x.ndim > 1
        else x
        for x in arrays
    ]
    return np.concatenate(padded)

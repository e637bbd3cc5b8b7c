"""The string-in form of a model."""

from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert_lite.models.compatibility import check_fits
from keras_bert_lite.models.tasks.registry import task_of
from keras_bert_lite.models.tasks.string_form import Answer, check_options, plain_form
from keras_bert_lite.text.inputs import as_batch, named_texts
from keras_bert_lite.text.preprocessor import Preprocessor

HALF_FLOATS = ("bfloat16", "float16")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TextModel(keras.Model):
    """A functional model whose inputs are strings.

    Made by `with_text`. It differs from a plain `keras.Model` in one thing:
    `predict` and calls take Python strings, which plain Keras refuses.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.with_text(kbl.sentence_encoder(encoder), preprocessor)
    >>> model.predict(["a day", "fine"], verbose=0)["sentence_embedding"].shape
    (2, 256)
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
                `tf.data.Dataset` of batches of these. Where a row has several
                strings (choices, split words) a list of lists.
            batch_size: Rows a batch, 32 if `None`.
            *args, **kwargs: As in `keras.Model.predict`.

        Returns:
            A dictionary of arrays, numbers as float32. Outputs with a sequence
            axis are padded to the longest batch, with zeros or empty strings
            (-1 for places in a text); they are computed without progress bar
            and callbacks.
        """
        if isinstance(x, tf.data.Dataset):
            if self._has_sequence_outputs():
                batches = x.take(kwargs.get("steps") or -1)
                return self._predict_batches(
                    self._strings(keras.utils.unpack_x_y_sample_weight(batch)[0])
                    for batch in batches
                )
            outputs = super().predict(x, batch_size, *args, **kwargs)
            return tf.nest.map_structure(as_array, outputs)
        x = self._strings(x)
        size, rows = batch_size or 32, len(next(iter(x.values())))
        if rows > size and self._has_sequence_outputs():
            return self._predict_batches(
                {name: v[i : i + size] for name, v in x.items()}
                for i in range(0, rows, size)
            )
        if rows == 0:
            return tf.nest.map_structure(as_array, self(x))
        outputs = super().predict(x, size, *args, **kwargs)
        return tf.nest.map_structure(as_array, outputs)

    def _has_sequence_outputs(self) -> bool:
        return any(None in output.shape[1:] for output in self.outputs)

    def _predict_batches(self, batches: Iterable[dict[str, tf.Tensor]]) -> Any:
        """Joins batches of different length, which Keras does element by element."""
        answers = [self.predict_on_batch(batch) for batch in batches]
        if not answers:
            raise ValueError("`x` must hold a batch or more. Received: none")
        absent = {
            name: value
            for layer in self.layers
            if isinstance(layer, Answer)
            for name, value in layer.absent.items()
        }
        return {
            name: tf.nest.map_structure(
                lambda *parts, name=name: _joined(parts, absent.get(name, 0)),
                *(answer[name] for answer in answers),
            )
            for name in answers[0]
        }

    def _strings(self, inputs: Any) -> dict[str, Any]:
        """Returns batches of strings by name, exactly those that the model takes."""
        named = named_texts(inputs)
        if set(named) != set(self.input):
            raise ValueError(
                f"The model takes {sorted(self.input)}. Received: {sorted(named)}"
            )
        if any(isinstance(x, keras.KerasTensor) for x in named.values()):
            return named
        words = len(named) == 1
        batches = {
            name: as_batch(x, name, len(self.input[name].shape), words)
            for name, x in named.items()
        }
        sizes = [x.shape[0] for x in batches.values()]
        if None not in sizes and len(set(sizes)) > 1:
            raise ValueError(
                "`text` and `text_pair` must have the same number of rows. "
                f"Received: {sizes[0]} and {sizes[1]}"
            )
        return batches


def with_text(
    model: keras.Model, preprocessor: Preprocessor, pairs: bool = False, **options: Any
) -> TextModel:
    """Puts a preprocessor before a model and readable answers behind it.

    Args:
        model: An encoder, or a model made by a task's builder.
        preprocessor: What turns strings into the model's inputs. Its `stride`
            says how long texts are cut into windows for question answering and
            token classification.
        pairs: Whether an encoder, a classifier or a regressor takes pairs of
            texts; other tasks know.
        **options: Of the task's answer; see `keras_bert_lite.models.tasks.registry`.

    Returns:
        A model that takes strings of shape `(B,)`; `predict` and calls take
        Python strings. Inputs, answers and options of each task stand in
        `keras_bert_lite.models.tasks.registry`, their shapes beside the task.

    Raises:
        NotImplementedError: Under another backend than TensorFlow.
        TypeError: If `preprocessor` is not a `Preprocessor`, or an option is not
            one of the task's.
        ValueError: If the preprocessor can make rows or ids that the model has
            no embeddings for, the model's outputs have no names, or an option
            has a value that it cannot have.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.text_classifier(encoder, labels=["bad", "good"], pooling="mean")
    >>> served = kbl.with_text(model, preprocessor)
    >>> sorted(served.predict(["a lovely day"], verbose=0))
    ['label', 'scores']
    """
    if not isinstance(preprocessor, Preprocessor):
        raise TypeError(
            f"`preprocessor` must be a `Preprocessor`. Received: {preprocessor!r}"
        )
    preprocessor.require_tensorflow()
    check_fits(model, preprocessor, "model")
    if not isinstance(model.output, dict):
        raise ValueError(
            "`model` must return a dictionary of outputs, whose names the SavedModel "
            f"takes over. Received: {model.output!r}"
        )
    task = task_of(model)
    form, answer = (task.string_form, task.answer) if task else (plain_form, None)
    check_options(model, answer, options)
    inputs, answers = form(answer, model, preprocessor, pairs, options)
    return TextModel(inputs, answers, name=f"{model.name}_with_text")


def as_array(value: Any) -> np.ndarray:
    """Returns a tensor as numpy: strings as text, halves as float32.

    Text is of dtype `str_`, or of `object` if a string ends in NUL, which the former
    cannot hold.
    """
    if isinstance(value, tf.RaggedTensor):
        value = value.to_tensor()
    array = np.asarray(value)
    if array.dtype == object:
        return _decoded(array)
    return array.astype(np.float32) if array.dtype.name in HALF_FLOATS else array


def _decoded(array: np.ndarray) -> np.ndarray:
    texts = [x.decode() for x in array.flat]
    dtype = object if any(x.endswith("\0") for x in texts) else str
    return np.array(texts, dtype).reshape(array.shape)


def _joined(parts: Sequence[Any], absent: int) -> np.ndarray:
    arrays = [as_array(part) for part in parts]
    shape = np.max([array.shape[1:] for array in arrays], axis=0, initial=0)
    return np.concatenate([_padded(x, shape, absent) for x in arrays])


def _padded(x: np.ndarray, shape: Sequence[int], absent: int) -> np.ndarray:
    """Fills rows up to a shape: numbers with `absent`, strings with nothing."""
    missing = [(0, n - m) for n, m in zip(shape, x.shape[1:], strict=True)]
    if not missing:
        return x
    fill: Any = "" if x.dtype.kind in "UO" else absent
    return np.pad(x, [(0, 0), *missing], constant_values=fill)

"""The string-in form of a model."""

from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert_lite.models.checks import check_fits
from keras_bert_lite.models.string_forms import string_form
from keras_bert_lite.text.inputs import as_batch, named_texts
from keras_bert_lite.text.packing import Preprocessor

ABSENT = {"entity_starts": -1, "entity_ends": -1}  # what stands for no number
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
        return {
            name: tf.nest.map_structure(
                lambda *parts, name=name: _joined(parts, ABSENT.get(name, 0)),
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
        **options: Of the task's answer, as in the table.

    Returns:
        A model that takes strings of shape `(B,)`; `predict` and calls take
        Python strings. See `keras_bert_lite.models.answers` for the shapes.

        | model | inputs | answers | options |
        |---|---|---|---|
        | `text_classifier` | `text`, `text_pair` | `label`, `scores` | |
        | `multi_label_classifier` | the same | `labels`, `scores` | `threshold` |
        | `regressor` | the same | `score` | |
        | `token_classifier` | `text`, or words `(B, W)` | `entities`,
          `entity_labels`, `entity_starts`, `entity_ends`, `entity_scores`; for
          words `labels`, `scores` too | `decoding`, `split_words` |
        | `question_answerer` | `text` (the question), `text_pair` (the context) |
          `answer`, `start`, `end`, `score`, `no_answer_score`, and the n best |
          `max_answer_length`, `n_best`, `no_answer_threshold` |
        | `multiple_choice` | `text`, `text_pair` `(B, C)` | `choice`, `answer`,
          `scores` | |
        | `masked_lm` | `text` | `tokens`, `scores`, `filled` | `top_k` |
        | any other | `text`, `text_pair` | what it returns on ids | |

    Raises:
        NotImplementedError: Under another backend than TensorFlow.
        TypeError: If `preprocessor` is not a `Preprocessor`, or an option is not
            one of the task's.
        ValueError: If the preprocessor can make rows or ids that the model has
            no embeddings for, the model's outputs have no names, or an option
            has a value that it cannot have.
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
    inputs, answers = string_form(model, preprocessor, pairs, options)
    return TextModel(inputs, answers, name=f"{model.name}_with_text")


def as_array(value: Any) -> np.ndarray:
    """Returns a tensor as numpy: strings as text, halves as float32."""
    if isinstance(value, tf.RaggedTensor):
        value = value.to_tensor()
    array = np.asarray(value)
    if array.dtype == object:
        return np.char.decode(array.astype(bytes), "utf-8")
    return array.astype(np.float32) if array.dtype.name in HALF_FLOATS else array


def _joined(parts: Sequence[Any], absent: int) -> np.ndarray:
    arrays = [as_array(part) for part in parts]
    shape = np.max([array.shape[1:] for array in arrays], axis=0, initial=0)
    return np.concatenate([_padded(x, shape, absent) for x in arrays])


def _padded(x: np.ndarray, shape: Sequence[int], absent: int) -> np.ndarray:
    """Fills rows up to a shape: numbers with `absent`, strings with nothing."""
    missing = [(0, n - m) for n, m in zip(shape, x.shape[1:], strict=True)]
    if not missing:
        return x
    fill: Any = "" if x.dtype.kind == "U" else absent
    return np.pad(x, [(0, 0), *missing], constant_values=fill)

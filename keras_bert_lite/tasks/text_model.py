"""Models that take strings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert_lite._finite import check_finite_weights
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.tasks.compatibility import check_fits
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.string_form import (
    TextsApart,
    check_options,
    plain_form,
)
from keras_bert_lite.tasks.text_parts import absent_in, preprocessor_of
from keras_bert_lite.text.inputs import PROMPT, as_batch, check_rows, texts_by_input
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.text_layer import require_tensorflow

MODEL_FILE = "model.keras"  # of a run
HALF_FLOATS = ("bfloat16", "float16")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TextModel(keras.Model):
    """A functional model whose inputs are strings, made by `with_text`.

    Unlike those of a plain `keras.Model`, `predict` and `__call__` accept Python
    strings.

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
            x: A list of strings; for text pairs, a dictionary of two lists,
                `text` and `text_pair`, a tuple of them, or a list of tuples; or a
                `tf.data.Dataset` of batches of these. A list of lists if a row
                has several strings (choices, candidates, split words).
            batch_size: Rows per batch; `None` means 32.
            *args, **kwargs: As in `keras.Model.predict`.

        Returns:
            A dictionary of arrays; floating-point values are float32. Outputs
            with a sequence axis are padded to the longest batch with zeros or
            empty strings (-1 for offsets in a text).

        Raises:
            ValueError: If there are `callbacks` and the outputs have a sequence
                axis: Keras cannot join their batches, so it does not predict them.
        """
        if kwargs.get("callbacks") and self._has_sequence_outputs():
            raise ValueError(
                "`callbacks` must be None for outputs with a sequence axis. "
                f"Received: {kwargs['callbacks']!r}"
            )
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

    def predict_on_batch(self, x: Any) -> Any:
        """Returns the outputs for a batch of strings, given as to `predict`.

        The strings of the outputs are bytes, as Keras returns them.
        """
        return super().predict_on_batch(self._strings(x))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles as `keras.Model.compile` does, without XLA.

        Raises:
            ValueError: If `jit_compile` is `True`; Keras would leave XLA off.
        """
        if kwargs.get("jit_compile") is True:
            raise ValueError(
                "`jit_compile` must not be True for a model that takes strings, which "
                "XLA does not know; compile the model on ids. Received: True"
            )
        super().compile(*args, **kwargs)

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """Refuses: it is the model on ids that is trained.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            f"{self.name!r} answers strings. Train the model on ids that `with_text` "
            "was given, which shares its weights, or use `finetune`."
        )

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """Refuses: `keras_bert_lite.evaluate` scores answers to strings.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            f"{self.name!r} answers strings: `keras_bert_lite.evaluate(model, rows)` "
            "scores them. Keras's own `evaluate` needs the model on ids."
        )

    def _has_sequence_outputs(self) -> bool:
        return any(None in output.shape[1:] for output in self.outputs)

    def _predict_batches(self, batches: Iterable[dict[str, tf.Tensor]]) -> Any:
        """Joins batches of different lengths, which Keras cannot concatenate."""
        answers = [self.predict_on_batch(batch) for batch in batches]
        if not answers:
            raise ValueError("`x` must hold at least one batch. Received: none")
        absent = absent_in(self)
        return {
            name: tf.nest.map_structure(
                lambda *parts, name=name: _joined(parts, absent.get(name, 0)),
                *(answer[name] for answer in answers),
            )
            for name in answers[0]
        }

    def _strings(self, inputs: Any) -> dict[str, Any]:
        """Returns batches of strings by name, after checking the names and sizes."""
        named = texts_by_input(inputs, self.input)
        if any(isinstance(x, keras.KerasTensor) for x in named.values()):
            return named
        words = len(named) == 1
        batches = {
            name: as_batch(x, name, len(self.input[name].shape), words)
            for name, x in named.items()
        }
        check_rows(batches)
        prompts = batches.get(PROMPT)
        if prompts is not None and tf.executing_eagerly():
            preprocessor_of(self).check_prompt_names(prompts)
        return batches


def with_text(
    model: keras.Model, preprocessor: Preprocessor, pairs: bool = False, **options: Any
) -> TextModel:
    """Builds a model from strings to readable answers.

    Args:
        model: An encoder, or a model made by a task's builder.
        preprocessor: The preprocessor that makes the model's inputs. Its
            `stride` controls how long texts are split into windows for question
            answering and token classification.
        pairs: Whether the model takes text pairs; ignored for tasks whose inputs
            are fixed.
        **options: Options of the task's answer; see
            `keras_bert_lite.tasks.registry`.

    Returns:
        A model that takes strings of shape `(B,)`; `predict` and `__call__` accept
        Python strings. `keras_bert_lite.tasks.registry` lists the inputs,
        answers and options of each task; the answer layers document the shapes.

    Raises:
        NotImplementedError: If the backend is not TensorFlow.
        TypeError: If `preprocessor` is not a `Preprocessor`, or the task has no
            such option.
        ValueError: If the preprocessor may make sequences or ids that the model
            has no embeddings for, the model's outputs have no names, or an
            option has an invalid value.

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
    require_tensorflow("`with_text`")
    check_fits(model, preprocessor, "model")
    if not isinstance(model.output, dict):
        raise ValueError(
            "`model` must return a dictionary of outputs, which names those of the "
            f"SavedModel. Received: {model.output!r}"
        )
    # Without the optimizer that it may be compiled with, which would be saved too.
    body = keras.Model(model.input, model.output, name=model.name)
    task = task_of(model)
    form, answer = (task.string_form, task.answer) if task else (plain_form, None)
    check_options(model, answer, options, task.input_options if task else ())
    inputs, answers = form(answer, body, preprocessor, pairs, options)
    return TextModel(inputs, answers, name=f"{model.name}_with_text")


def ids_of(model: TextModel, texts: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Returns the inputs of the model on ids, of a model without windows."""
    apart = next((x for x in model.layers if isinstance(x, TextsApart)), None)
    return preprocessor_of(model)(texts if apart is None else apart(texts))


def model_on_ids(model: TextModel) -> keras.Model:
    """Returns the model between the preprocessor and the answers."""
    return next(layer for layer in model.layers if isinstance(layer, keras.Model))


def load_text_model(
    source: TextModel | str | os.PathLike, argument: str = "model"
) -> TextModel:
    """Returns a model that takes strings, or loads it, for use or for an export.

    Args:
        source: The model, its `.keras` file, or a directory with a `model.keras`, as
            `finetune` leaves it.
        argument: Its name in error messages.

    Raises:
        FileNotFoundError: If there is no such file.
        NotImplementedError: If the backend is not TensorFlow.
        NotFinite: If a weight is NaN or infinite.
        TypeError: If the model was not made by `with_text`.
        ValueError: If the file does not describe a model, or its parts do not fit.
    """
    require_tensorflow("A model that takes strings")
    model: Any = source
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        path = path / MODEL_FILE if path.is_dir() else path
        if not path.is_file() or path.suffix != Path(MODEL_FILE).suffix:
            raise FileNotFoundError(
                f"`{argument}` must be a .keras file, or a directory with a "
                f"{MODEL_FILE}. Received: {str(source)!r}"
            )
        try:
            model = keras.models.load_model(path)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} cannot be loaded: {error}") from error
    if not isinstance(model, TextModel):
        raise TypeError(
            f"`{argument}` must be a model that takes strings, made by `with_text`. "
            f"Received: {model!r}"
        )
    check_finite_weights(model, argument)
    return model


def as_array(value: Any) -> np.ndarray:
    """Converts a tensor to numpy: bytes to text, half precision to float32.

    Text has dtype `str_`, or `object` if a string ends in NUL, which `str_` cannot
    hold.
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


def _joined(parts: Sequence[Any], absent: float) -> np.ndarray:
    arrays = [as_array(part) for part in parts]
    shape = np.max([array.shape[1:] for array in arrays], axis=0, initial=0)
    return np.concatenate([_padded(x, shape, absent) for x in arrays])


def _padded(x: np.ndarray, shape: Sequence[int], absent: float) -> np.ndarray:
    """Pads to a shape: numbers with `absent`, strings with empty ones."""
    missing = [(0, n - m) for n, m in zip(shape, x.shape[1:], strict=True)]
    if not missing:
        return x
    fill: Any = "" if x.dtype.kind in "UO" else absent
    return np.pad(x, [(0, 0), *missing], constant_values=fill)

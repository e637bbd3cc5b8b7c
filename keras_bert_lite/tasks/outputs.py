"""A model's outputs for batches, and the labels of its outputs."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras
import numpy as np

from keras_bert_lite._finite import NotFinite
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.sentence_embedding import (
    EMBEDDING,
    SENTENCE_EMBEDDING,
)
from keras_bert_lite.tasks.task import marked_model


def batches(
    data: Iterable, output: str | None = None
) -> Iterator[tuple[Any, np.ndarray, np.ndarray | None]]:
    """Yields the inputs, targets and weights (or `None`) of each batch, as arrays.

    Arrays work on all backends; JAX models do not take TensorFlow tensors.

    Args:
        data: The batches.
        output: The output to select, if targets and weights are dictionaries.

    Raises:
        ValueError: If there are no batches, or a batch has no targets.
    """
    empty = True
    for batch in data:
        empty = False
        inputs, targets, weights = keras.utils.unpack_x_y_sample_weight(batch)
        targets, weights = (_of_output(x, output) for x in (targets, weights))
        if targets is None:
            raise ValueError(
                f"`data` must be batches (inputs, targets). Received: {type(batch)}"
            )
        yield keras.tree.map_structure(_array, (inputs, targets, weights))
    if empty:
        raise ValueError(
            "`data` must have at least one batch each time it is read. "
            f"Received: {data!r}"
        )


def _of_output(values: Any, output: str | None) -> Any:
    return values[output] if output is not None and isinstance(values, dict) else values


class Predictor:
    """Predicts batches of data sets.

    Under TensorFlow, data sets whose batches are alike share one trace;
    `predict_on_batch` is traced again for each of the first lengths of rows.

    Args:
        model: The model.
    """

    def __init__(self, model: keras.Model) -> None:
        self.model = model
        self._traced: list[tuple[Any, Callable[[Any], Any]]] = []

    def of(self, data: Iterable) -> Callable[[Any], Any]:
        """Returns a function like `predict_on_batch`, for the batches of some data."""
        spec = getattr(data, "element_spec", None)
        if spec is None or keras.backend.backend() != "tensorflow":
            # JAX does not take TensorFlow's tensors, and torch may return its own.
            return lambda x: keras.tree.map_structure(
                _array, self.model.predict_on_batch(keras.tree.map_structure(_array, x))
            )
        call = self._call(keras.utils.unpack_x_y_sample_weight(spec)[0])
        return lambda x: keras.tree.map_structure(_array, call(x))

    def _call(self, inputs: Any) -> Callable[[Any], Any]:
        for known, call in self._traced:
            if known == inputs:
                return call
        traced = tf.function(
            lambda x: self.model(x, training=False),
            input_signature=[inputs],
            autograph=False,
        )
        # TensorFlow counts the traces of all models' functions of this line, and warns
        # of retracing; it does not count those that are asked for.
        call = traced.get_concrete_function()
        self._traced.append((inputs, call))
        return call


def scores_of(
    model: keras.Model,
    inputs: Any,
    output: str | None = None,
    predict: Callable[[Any], Any] | None = None,
) -> np.ndarray:
    """Returns a model's predictions for a batch, of one output.

    They are those of `predict`, a `Predictor`'s, if it is given.

    Raises:
        NotFinite: If a prediction is NaN, of which the first label is the "best".
        ValueError: If the model has several outputs and `output` is not one of them.
    """
    outputs = (predict or model.predict_on_batch)(inputs)
    if any(np.isnan(x).any() for x in keras.tree.flatten(outputs)):
        rule = f"{model.name!r} must predict numbers, or its scores would mean nothing"
        raise NotFinite(rule, "NaN")
    if not isinstance(outputs, dict):
        return outputs
    names = list(marked_model(model)[1] or outputs)
    if output is None and len(names) == 1:
        return outputs[names[0]]
    if output not in outputs:
        raise ValueError(
            f"`output` must be one of the model's outputs, {sorted(outputs)}. "
            f"Received: {output!r}"
        )
    return outputs[output]


def one_number(model: keras.Model, inputs: Any) -> np.ndarray:
    """Returns a number per row `(B,)`: a regressor's, or the cosine of two texts.

    Raises:
        ValueError: If there is more than one number per row, or not two texts.
    """
    if task_of(model) is SENTENCE_EMBEDDING:
        return _cosines(_vectors(model, inputs))
    numbers = scores_of(model, inputs)
    if numbers.shape[1:] not in ((), (1,)):
        raise ValueError(
            f"The model must give one number per row. Received: shape {numbers.shape}"
        )
    return numbers.reshape(-1).astype(np.float32)


def _vectors(model: keras.Model, inputs: dict[str, Any]) -> np.ndarray:
    """Returns the vectors `(B, C, H)` of inputs `(B, C, S)`."""
    if len(model.output[EMBEDDING].shape) == 3:
        return model.predict_on_batch(inputs)[EMBEDDING]
    shape = np.shape(next(iter(inputs.values())))
    if len(shape) != 3:
        raise ValueError(
            f"The inputs must be two texts per row, (B, 2, S). Received: shape {shape}"
        )
    texts = [{k: x[:, i] for k, x in inputs.items()} for i in range(shape[1])]
    return np.stack([model.predict_on_batch(x)[EMBEDDING] for x in texts], axis=1)


def _cosines(vectors: np.ndarray) -> np.ndarray:
    if vectors.shape[1] != 2:
        raise ValueError(
            f"The inputs must be two texts per row. Received: {vectors.shape[1]}"
        )
    vectors = vectors.astype(np.float32)  # may be bfloat16
    lengths = np.linalg.norm(vectors, axis=-1).prod(axis=1)
    return vectors.prod(axis=1).sum(axis=-1) / np.maximum(lengths, 1e-12)


def _array(x: Any) -> Any:
    """Converts a tensor of any library to an array; `None` is left as it is."""
    if x is None:
        return None
    return keras.ops.convert_to_numpy(x) if keras.ops.is_tensor(x) else np.asarray(x)

"""What a model says about batches, and the names it says it in."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert_lite.models.tasks.registry import task_of
from keras_bert_lite.models.tasks.sentence_embedding import (
    EMBEDDING,
    SENTENCE_EMBEDDING,
)
from keras_bert_lite.models.tasks.task import labels_of, marked_model


def batches(
    data: Iterable, output: str | None = None
) -> Iterator[tuple[Any, np.ndarray, np.ndarray | None]]:
    """Yields the inputs, targets and weights (or `None`) of each batch, as arrays.

    Tensors of a `tf.data.Dataset` are no inputs of a model under JAX.

    Args:
        data: The batches.
        output: Whose targets and weights, where a batch has them by output.

    Raises:
        ValueError: If there is no batch, or one without targets.
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
            "`data` must have at least one batch, and again each time that it is "
            f"read. Received: {data!r}"
        )


def _of_output(values: Any, output: str | None) -> Any:
    return values[output] if output is not None and isinstance(values, dict) else values


def scores_of(model: keras.Model, inputs: Any, output: str | None = None) -> np.ndarray:
    """Returns what a model gives for a batch, of the output if it has several.

    Raises:
        ValueError: If the model has several outputs and none of them is named.
    """
    outputs = model.predict_on_batch(inputs)
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
    """Returns a number for each row `(B,)`: a regressor's, or the cosine of two texts.

    Raises:
        ValueError: If there is more than one number a row, or not two texts.
    """
    if task_of(model) is SENTENCE_EMBEDDING:
        return _cosines(_vectors(model, inputs))
    numbers = scores_of(model, inputs)
    if numbers.shape[1:] not in ((), (1,)):
        raise ValueError(
            f"The model must give one number a row. Received: shape {numbers.shape}"
        )
    return numbers.reshape(-1).astype(np.float32)


def _vectors(model: keras.Model, inputs: dict[str, Any]) -> np.ndarray:
    """Returns the vectors `(B, C, H)` of inputs `(B, C, S)`."""
    if len(model.output[EMBEDDING].shape) == 3:
        return model.predict_on_batch(inputs)[EMBEDDING]
    shape = np.shape(next(iter(inputs.values())))
    if len(shape) != 3:
        raise ValueError(
            f"The inputs must be two texts a row, (B, 2, S). Received: shape {shape}"
        )
    texts = [{k: x[:, i] for k, x in inputs.items()} for i in range(shape[1])]
    return np.stack([model.predict_on_batch(x)[EMBEDDING] for x in texts], axis=1)


def _cosines(vectors: np.ndarray) -> np.ndarray:
    if vectors.shape[1] != 2:
        raise ValueError(
            f"The inputs must be two texts a row. Received: {vectors.shape[1]}"
        )
    vectors = vectors.astype(np.float32)  # of bfloat16
    lengths = np.linalg.norm(vectors, axis=-1).prod(axis=1)
    return vectors.prod(axis=1).sum(axis=-1) / np.maximum(lengths, 1e-12)


def scored_labels(
    model: keras.Model, labels: Sequence[str] | None, output: str | None = None
) -> list[str]:
    """Returns the labels, those of the model's head if they are not given."""
    found = labels_of(model, output) if labels is None else labels
    if found is None:
        raise ValueError(
            "`labels` must be given, for the model has no head with labels. "
            "Received: None"
        )
    return list(found)


def check_targets(targets: np.ndarray, labels: Sequence[str]) -> None:
    bad = targets[~np.isin(targets, range(len(labels)))]
    if bad.size:
        raise ValueError(
            f"`data` must have indices of the {len(labels)} labels as targets. "
            f"Received: {bad[0]}"
        )


def _array(x: Any) -> Any:
    """A tensor of any library as an array; `None` stays."""
    if x is None:
        return None
    return keras.ops.convert_to_numpy(x) if keras.ops.is_tensor(x) else np.asarray(x)

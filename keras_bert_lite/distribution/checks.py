"""Checks of a batch and a model against the devices, before anything compiles."""

import keras

from keras_bert_lite import layers
from keras_bert_lite._private import sublayers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_positive
from keras_bert_lite.distribution.layout import check_keys
from keras_bert_lite.distribution.placement import Placement
from keras_bert_lite.training.hosts import model_replicas


def check_batch(
    batch_size: int,
    sequence_length: int | None = None,
    model: keras.Model | None = None,
) -> None:
    """Checks that batches fit the devices and the model, in no time.

    JAX says so only when it places a batch, and the compiler after minutes.

    Args:
        batch_size: Rows of a batch, of all hosts together.
        sequence_length: Tokens of a row; `None`: they are not checked.
        model: The model, for its position table and the keys of its layout; `None`:
            they are not checked.

    Raises:
        ValueError: If the rows do not divide by the devices that share them, a row
            is longer than the position table, or a key of the layout given to
            `setup` matches no weight.

    Example:

    >>> kbl.distribution.check_batch(64, 128)
    """
    check_positive("batch_size", batch_size)
    devices = shares(model)
    if batch_size % devices:
        raise ValueError(
            f"`batch_size` must divide by the {devices} devices that share the rows "
            f"of a batch. Received: {batch_size}"
        )
    if model is None:
        return
    check_layout(model)
    for layer in sublayers(model):
        if isinstance(layer, layers.Embeddings) and sequence_length is not None:
            _check_length(sequence_length, layer.max_sequence_length)


def _check_length(sequence_length: int, limit: int | None) -> None:
    if limit is not None and sequence_length > limit:
        raise ValueError(
            f"`sequence_length` must be at most {limit}, the length of the model's "
            f"position table. Received: {sequence_length}"
        )


def check_layout(model: keras.Model) -> None:
    """Refuses a key of the user's layout that matches no weight of the model."""
    distribution = keras.distribution.distribution()
    if isinstance(distribution, Placement):
        check_keys(distribution.own_layout, model)


def shares(model: keras.Model | None = None) -> int:
    """Returns into how many parts a batch is cut, of all hosts together."""
    distribution = keras.distribution.distribution()
    if distribution is not None:
        return model_replicas(distribution)
    if keras.backend.backend() != "tensorflow":
        return 1
    strategy = getattr(model, "distribute_strategy", None)
    strategy = strategy or tf.distribute.get_strategy()
    return strategy.num_replicas_in_sync

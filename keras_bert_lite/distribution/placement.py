"""A distribution of Keras that says what does not fit before anything is compiled."""

from collections.abc import Mapping
from typing import Any

import keras

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.distribution.layout import (
    BATCH,
    Axes,
    check_axes,
)
from keras_bert_lite.training.hosts import model_replicas, process_count


class Placement(keras.distribution.ModelParallel):
    """Shares out batches, and cuts the weights that a layout names.

    Without a layout it is data parallel: all weights are on each device. It refuses
    at once what JAX would refuse later, or in other words.

    Args:
        mesh: A `keras.distribution.DeviceMesh` with the axis `batch`.
        layout: The axes of the mesh by which weights are cut, by their paths.
        own: Whether the layout is the user's own, so that each key is to match.
    """

    def __init__(self, mesh, layout: Mapping[str, Axes], own: bool = False) -> None:
        layout_map = keras.distribution.LayoutMap(mesh)
        for key, axes in layout.items():
            # Keras before 3.15 looks for the key anywhere in a path.
            layout_map[rf"\A(?:{key})\Z"] = tuple(axes)
        super().__init__(layout_map=layout_map, batch_dim_name=BATCH)
        self.own_layout = layout if own else {}

    def get_variable_layout(self, variable):
        layout = super().get_variable_layout(variable)
        shape = tuple(variable.shape)
        check_axes(variable.path, shape, layout.axes, self.device_mesh)
        return layout

    def get_data_layout(self, data_shape):
        self._check_rows(data_shape[0], self._shares)
        return super().get_data_layout(data_shape)

    @property
    def _shares(self) -> int:
        """The number of parts into which a batch of this process is cut."""
        return max(model_replicas(self) // process_count(), 1)

    def _check_rows(self, rows: int, shares: int) -> None:
        if rows % shares:
            raise ValueError(_indivisible(rows, shares))

    def distribute_dataset(self, dataset):
        if not isinstance(dataset, tf.data.Dataset):
            return super().distribute_dataset(dataset)
        inputs = tf.nest.flatten(dataset.element_spec)
        if strings := [x for x in inputs if x.dtype == tf.string]:
            raise TypeError(
                "`x` must be ids: strings have no place on these devices. Map the "
                "data set with the preprocessor, as `text_dataset` does. "
                f"Received: {strings}"
            )
        rows = inputs[0].shape[0]
        if rows is None:  # the last batch may have fewer
            return super().distribute_dataset(dataset).map(self._checked)
        # Keras gives each process its part of a batch, unless it is one already.
        whole = self.auto_shard_dataset
        self._check_rows(rows, model_replicas(self) if whole else self._shares)
        return super().distribute_dataset(dataset)

    def _checked(self, *batch: Any) -> Any:
        rows = tf.shape(tf.nest.flatten(batch)[0])[0]
        message = _indivisible("some", self._shares)
        right = tf.debugging.assert_equal(rows % self._shares, 0, message)
        with tf.control_dependencies([right]):
            batch = tf.nest.map_structure(tf.identity, batch)
        return batch if len(batch) > 1 else batch[0]


def _indivisible(rows: Any, shares: int) -> str:
    return (
        f"A batch must divide by the {shares} devices that share its rows: choose a "
        "multiple as the batch size, and `drop_remainder=True` for data sets whose "
        f"last batch is smaller. Received: a batch of {rows} rows"
    )

"""What the tests of metrics share."""

import json

import keras
import numpy as np

from tests.conformance import to_numpy


def streamed(metric, y_true, y_pred, weight=None, size=37):
    """Returns a metric's result after batches of `size` rows, the last one smaller."""
    for i in range(0, len(y_true), size):
        batch = slice(i, i + size)
        metric.update_state(
            y_true[batch],
            y_pred[batch],
            None if weight is None else weight[batch],
        )
    return to_numpy(metric.result())


def revived(metric):
    """Returns the metric that its configuration, as JSON, makes."""
    config = json.dumps(keras.saving.serialize_keras_object(metric))
    twin = keras.saving.deserialize_keras_object(json.loads(config))
    assert twin.get_config() == metric.get_config()
    assert type(twin) is type(metric)
    return twin


def evaluated(metric, y_true, y_pred, weight=None):
    """Returns the metric that `model.evaluate` reports on the output `logits`."""
    inputs = keras.Input(y_pred.shape[1:])
    model = keras.Model(inputs, {"logits": keras.layers.Identity()(inputs)})
    arguments = {"metrics" if weight is None else "weighted_metrics": [metric]}
    model.compile(loss={"logits": _nothing}, **arguments)
    report = model.evaluate(
        y_pred, y_true, 13, verbose=0, sample_weight=weight, return_dict=True
    )
    return next(np.asarray(x) for name, x in report.items() if metric.name in name)


def _nothing(y_true, y_pred):
    return keras.ops.mean(y_pred, axis=-1)

"""Dense heads: from an encoder's outputs to logits."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras

from keras_bert_lite.checks import (
    check_bool,
    check_choice,
    check_label,
    check_positive,
)
from keras_bert_lite.config import ACTIVATIONS
from keras_bert_lite.layers.base import EncoderPart, activation_function
from keras_bert_lite.layers.layer_norm import LayerNorm


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class DenseHead(EncoderPart):
    """Dropout and a dense layer, optionally with a hidden layer before them.

    `W dropout(x) + b`, or, with `hidden_activation`,
    `W dropout(activation(V dropout(x) + c)) + b`, where V is square. With
    `hidden_norm` the hidden layer's output is normalized before the second dropout.

    Args:
        units: Width of the output.
        dropout: Dropout rate before the last layer.
        hidden_activation: Activation of the hidden layer; see
            `EncoderConfig.activation`. `None`: no hidden layer.
        hidden_dropout: Dropout rate before the hidden layer; `None`: `dropout`.
        hidden_bias: Whether the hidden layer has a bias (c).
        hidden_norm: The `epsilon` and `center` (whether there is a bias) of the
            hidden layer's normalization; `None` for none.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        x: Floats of shape `(..., H)`.

    Output shape:
        `(..., units)`.
    """

    def __init__(
        self,
        units: int,
        dropout: float = 0.1,
        hidden_activation: str | None = None,
        hidden_dropout: float | None = None,
        hidden_bias: bool = True,
        hidden_norm: Mapping[str, Any] | None = None,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(initializer_range=initializer_range, **kwargs)
        check_positive("units", units)
        check_choice("hidden_activation", hidden_activation, (*ACTIVATIONS, None))
        if hidden_norm is not None and hidden_activation is None:
            raise ValueError(
                "`hidden_norm` must be None without `hidden_activation`. "
                f"Received: {hidden_norm!r}"
            )
        self.units = units
        self.dropout_rate = dropout
        self.hidden_activation = hidden_activation
        self.hidden_dropout_rate = hidden_dropout
        check_bool("hidden_bias", hidden_bias)
        self.hidden_bias = hidden_bias
        self.hidden_norm: Any = None
        if hidden_norm is not None:
            self.hidden_norm = LayerNorm(
                **hidden_norm, dtype=self.dtype_policy, name="hidden_norm"
            )
        self.dropout = self._dropout(dropout)
        before = dropout if hidden_dropout is None else hidden_dropout
        self.hidden_dropout = self._dropout(before, "hidden_dropout")
        self.hidden_dense: Any = None  # as wide as the input, so made in `build`
        self.dense = self._dense(units, "dense")

    def build(self, x_shape):
        if self.hidden_activation is not None:
            activation = activation_function(self.hidden_activation)
            self.hidden_dense = self._dense(
                x_shape[-1], "hidden_dense", self.hidden_bias, activation
            )
            self.hidden_dropout.build(x_shape)
            self.hidden_dense.build(x_shape)
        if self.hidden_norm is not None:
            self.hidden_norm.build(x_shape)
        self.dropout.build(x_shape)
        self.dense.build(x_shape)

    def call(self, x, training=None):
        if self.hidden_dense is not None:
            x = self.hidden_dense(self.hidden_dropout(x, training=training))
        if self.hidden_norm is not None:
            x = self.hidden_norm(x)
        return self.dense(self.dropout(x, training=training))

    def _norm_config(self) -> dict[str, Any] | None:
        norm = self.hidden_norm
        return norm and {"epsilon": norm.epsilon, "center": norm.center}

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.units)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "dropout": self.dropout_rate,
            "hidden_activation": self.hidden_activation,
            "hidden_dropout": self.hidden_dropout_rate,
            "hidden_bias": self.hidden_bias,
            "hidden_norm": self._norm_config(),
        }


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ClassificationHead(DenseHead):
    """A `DenseHead` with one logit for each label.

    Args:
        labels: The names of the labels, in the order of the logits.
        dropout, hidden_activation, hidden_dropout, hidden_bias, hidden_norm,
            initializer_range: See `DenseHead`.

    Call arguments:
        x: Floats of shape `(..., H)`.

    Output shape:
        `(..., len(labels))`.

    Raises:
        ValueError: If there are no labels, or duplicates.
    """

    def __init__(
        self, labels: Sequence[str], dropout: float = 0.1, **kwargs: Any
    ) -> None:
        labels = check_labels(labels, at_least=1)
        super().__init__(len(labels), dropout, **kwargs)
        self.labels = labels

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["units"]
        return {**config, "labels": list(self.labels)}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class RegressionHead(DenseHead):
    """A `DenseHead` that predicts numbers.

    Args:
        units: The number of outputs.
        names: The names of the outputs, in their order, or `None`.
        dropout, hidden_activation, hidden_dropout, hidden_bias, hidden_norm,
            initializer_range: See `DenseHead`.

    Call arguments:
        x: Floats of shape `(..., H)`.

    Output shape:
        `(..., units)`.

    Raises:
        ValueError: If there are duplicate names, or not one for each number.
    """

    def __init__(
        self, units: int, names: Sequence[str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(units, **kwargs)
        if names is not None:
            names = check_labels(names, at_least=1, argument="names")
            if len(names) != units:
                raise ValueError(
                    f"`names` must be {units} names, one per number. Received: {names}"
                )
        self.names = names

    def get_config(self) -> dict[str, Any]:
        names = None if self.names is None else list(self.names)
        return {**super().get_config(), "names": names}


def check_labels(
    labels: Sequence[str], at_least: int = 2, argument: str = "labels"
) -> list[str]:
    """Returns the labels as a list, and raises an error if they are invalid."""
    if (
        isinstance(labels, str)
        or not isinstance(labels, Sequence)
        or not all(isinstance(x, str) for x in labels)
    ):
        raise TypeError(f"`{argument}` must be a list of strings. Received: {labels!r}")
    labels = list(labels)
    if len(labels) < at_least or len(set(labels)) < len(labels):
        least = "one name" if at_least == 1 else "two names"
        raise ValueError(
            f"`{argument}` must be at least {least}, without duplicates. "
            f"Received: {labels}"
        )
    for label in labels:
        check_label(argument, label)
    return labels

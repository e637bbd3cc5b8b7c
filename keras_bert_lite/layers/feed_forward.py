"""The feed-forward network of a block."""

from typing import Any

import keras

from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.base import EncoderPart, activation_function


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class FeedForward(EncoderPart):
    """Two dense layers with an activation between them, at each position.

    `W2 activation(W1 x)`, or `W2 (activation(W1 x) * Wg x)` if the configuration is
    `gated`. W1 is `intermediate_dense`, Wg is `gate_dense` and W2 is `output_dense`.

    Args:
        config: The encoder's `EncoderConfig`, or its fields in a dictionary. It
            uses `hidden_dim`, `intermediate_dim`, `activation`, `gated`, `biases` and
            `initializer_range`.

    Call arguments:
        x: Floats of shape `(..., H)`.

    Output shape:
        The shape of `x`.

    Reference: [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section
    3.3; the gate: [Shazeer, 2020](https://arxiv.org/abs/2002.05202).
    """

    def __init__(self, config: EncoderConfig | dict[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        config, biases = self.config, self.config.biases
        self.intermediate_dense = self._dense(
            config.intermediate_dim,
            "intermediate_dense",
            biases.intermediate,
            activation_function(config.activation),
        )
        self.gate_dense: keras.layers.Dense | None = None
        if config.gated:
            self.gate_dense = self._dense(
                config.intermediate_dim, "gate_dense", biases.intermediate
            )
        self.output_dense = self._dense(
            config.hidden_dim, "output_dense", biases.output
        )

    def build(self, x_shape):
        self.intermediate_dense.build(x_shape)
        if self.gate_dense is not None:
            self.gate_dense.build(x_shape)
        self.output_dense.build((*x_shape[:-1], self.config.intermediate_dim))

    def call(self, x):
        y = self.intermediate_dense(x)
        if self.gate_dense is not None:
            y = y * self.gate_dense(x)
        return self.output_dense(y)

    def compute_output_spec(self, x):
        return keras.KerasTensor(x.shape, dtype=self.compute_dtype)

    def compute_output_shape(self, x_shape):
        return x_shape

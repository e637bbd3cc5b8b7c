"""The feed-forward network of a block."""

from typing import Any

import keras

from keras_bert_lite.checks import check_bool, check_choice, check_positive
from keras_bert_lite.config import ACTIVATIONS
from keras_bert_lite.layers.base import EncoderPart, activation_function, bias_names

DENSE_LAYERS = ("intermediate", "output")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class FeedForward(EncoderPart):
    """Two dense layers with an activation between them, at each position.

    `W2 activation(W1 x)`, or `W2 (activation(W1 x) * Wg x)` if it is `gated`. W1 is
    `intermediate_dense`, Wg is `gate_dense` and W2 is `output_dense`.

    Args:
        intermediate_dim: Width between the two layers.
        activation: `"gelu"` (exact, with erf), `"gelu_tanh"`, `"relu"`, `"silu"` or
            `"tanh"`.
        gated: Whether a gate multiplies what the activation returns.
        use_bias: Whether the dense layers have a bias, or a list of those of
            `"intermediate"` (with the gate) and `"output"` that have one.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        x: Floats of shape `(..., H)`.

    Output shape:
        The shape of `x`.

    Example:

    >>> layer = FeedForward(intermediate_dim=1024)
    >>> layer(keras.ops.ones((2, 5, 64))).shape
    TensorShape([2, 5, 64])

    Reference: [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section
    3.3; the gate: [Shazeer, 2020](https://arxiv.org/abs/2002.05202).
    """

    LAYERS: tuple[str, ...] = ("intermediate_dense", "gate_dense", "output_dense")

    def __init__(
        self,
        intermediate_dim: int,
        activation: str = "gelu",
        gated: bool = False,
        use_bias: bool | list[str] = True,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(initializer_range=initializer_range, **kwargs)
        check_positive("intermediate_dim", intermediate_dim)
        check_choice("activation", activation, ACTIVATIONS)
        check_bool("gated", gated)
        self.intermediate_dim = intermediate_dim
        self.activation = activation
        self.gated = gated
        self.use_bias = bias_names(use_bias, DENSE_LAYERS)
        # For the width of the input, so made in `build`.
        self.intermediate_dense: Any = None
        self.gate_dense: Any = None
        self.output_dense: Any = None

    def build(self, x_shape):
        width = x_shape[-1]
        if width is None:
            raise ValueError(
                f"`x` must have a known width. Received: the shape {tuple(x_shape)}"
            )
        inner, bias = self.intermediate_dim, "intermediate" in self.use_bias
        function = activation_function(self.activation)
        self._add_dense("intermediate_dense", inner, bias, x_shape, function)
        if self.gated:
            self._add_dense("gate_dense", inner, bias, x_shape)
        inside = (*x_shape[:-1], inner)
        self._add_dense("output_dense", width, "output" in self.use_bias, inside)

    def call(self, x):
        y = self.intermediate_dense(x)
        if self.gate_dense is not None:
            y = y * self.gate_dense(x)
        return self.output_dense(y)

    def compute_output_spec(self, x):
        return keras.KerasTensor(x.shape, dtype=self.compute_dtype)

    def compute_output_shape(self, x_shape):
        return x_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "intermediate_dim": self.intermediate_dim,
            "activation": self.activation,
            "gated": self.gated,
            "use_bias": self.use_bias,
        }

"""The vectors of relative positions."""

from typing import Any

import keras

from keras_bert_lite.config import check_positive
from keras_bert_lite.layers.base import CompositeLayer, Initializer
from keras_bert_lite.layers.normalization import LayerNorm


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class RelativeTable(CompositeLayer):
    """A vector for each relative position, which all blocks share.

    Args:
        num_rows: Rows of the table (2 K): K distances in each direction.
        hidden_dim: Width of the vectors (H).
        normalize: Whether they are layer-normalized.
        layer_norm_epsilon: Added to the variance in the normalization.
        initializer_range: Standard deviation of the initial weights.

    Reference: [He et al., 2021](https://arxiv.org/abs/2006.03654), section 3.1.
    """

    def __init__(
        self,
        num_rows: int,
        hidden_dim: int,
        normalize: bool = True,
        layer_norm_epsilon: float = 1e-7,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive("num_rows", num_rows)
        check_positive("hidden_dim", hidden_dim)
        self.num_rows = num_rows
        self.hidden_dim = hidden_dim
        self.normalize = normalize
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.embedding = keras.layers.Embedding(
            num_rows,
            hidden_dim,
            embeddings_initializer=Initializer(stddev=initializer_range),
            dtype=self.dtype_policy,
            name="embedding",
        )
        self.layer_norm = None
        if normalize:
            self.layer_norm = LayerNorm(
                epsilon=layer_norm_epsilon, dtype=self.dtype_policy, name="layer_norm"
            )

    def build(self, x_shape=None):
        self.embedding.build((None,))
        if self.layer_norm is not None:
            self.layer_norm.build((self.num_rows, self.hidden_dim))

    def call(self, x=None):
        return self.rows()

    def rows(self):
        """Returns the vectors, `(2 K, H)`."""
        rows = self.embedding(keras.ops.arange(self.num_rows, dtype="int32"))
        return rows if self.layer_norm is None else self.layer_norm(rows)

    def compute_output_shape(self, x_shape=None):
        return (self.num_rows, self.hidden_dim)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_rows": self.num_rows,
            "hidden_dim": self.hidden_dim,
            "normalize": self.normalize,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
        }

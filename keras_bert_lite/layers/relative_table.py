"""The vectors of relative positions."""

from typing import Any

import keras

from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.base import EncoderPart
from keras_bert_lite.layers.normalization import LayerNorm


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class RelativeTable(EncoderPart):
    """A vector for each relative position, which all blocks share.

    Args:
        config: The encoder's `EncoderConfig`, or its fields in a dictionary. Of
            it count `relative_positions`, which must be there, `hidden_dim`,
            `layer_norm_epsilon`, `norms.bias` and `initializer_range`.

    Raises:
        ValueError: If there are no `relative_positions`.

    Reference: [He et al., 2021](https://arxiv.org/abs/2006.03654), section 3.1.
    """

    def __init__(self, config: EncoderConfig | dict[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        relative = self.config.relative_positions
        if relative is None:
            raise ValueError("`config` must have `relative_positions`. Received: None")
        self.num_rows = 2 * relative.span
        self.embedding = self._table(self.num_rows, self.config.hidden_dim, "embedding")
        self.layer_norm: LayerNorm | None = None
        if relative.normalize:
            self.layer_norm = self._layer_norm("layer_norm")

    def build(self, x_shape=None):
        self.embedding.build((None,))
        if self.layer_norm is not None:
            self.layer_norm.build((self.num_rows, self.config.hidden_dim))

    def call(self, x=None):
        return self.rows()

    def rows(self):
        """Returns the vectors, `(2 K, H)`: K distances in each direction."""
        rows = self.embedding(keras.ops.arange(self.num_rows, dtype="int32"))
        return rows if self.layer_norm is None else self.layer_norm(rows)

    def compute_output_shape(self, x_shape=None):
        return (self.num_rows, self.config.hidden_dim)

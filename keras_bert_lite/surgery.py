"""New encoders with other tokens, positions or layers and the same weights."""

from keras_bert_lite.tasks.surgery import (
    add_tokens,
    keep_layers,
    keep_tokens,
    resize,
)

__all__ = ["add_tokens", "keep_layers", "keep_tokens", "resize"]

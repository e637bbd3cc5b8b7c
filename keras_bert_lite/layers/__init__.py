"""Keras layers of the BERT family, on `keras.ops`, for any backend."""

from keras_bert_lite.layers.attention import SelfAttention
from keras_bert_lite.layers.embeddings import Embeddings
from keras_bert_lite.layers.encoder import Encoder
from keras_bert_lite.layers.encoder_block import EncoderBlock
from keras_bert_lite.layers.heads import ClassificationHead
from keras_bert_lite.layers.pooler import Pooler

__all__ = [
    "ClassificationHead",
    "Embeddings",
    "Encoder",
    "EncoderBlock",
    "Pooler",
    "SelfAttention",
]

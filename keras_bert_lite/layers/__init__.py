"""Keras layers of the BERT family, on `keras.ops`, for any backend."""

from keras_bert_lite.layers.attention import SelfAttention
from keras_bert_lite.layers.choices import HasTokens, JoinChoices, SplitChoices
from keras_bert_lite.layers.crf import CRF, CRFDecoder
from keras_bert_lite.layers.disentangled_attention import DisentangledAttention
from keras_bert_lite.layers.disentangled_embeddings import (
    GradientDisentangledEmbeddings,
)
from keras_bert_lite.layers.distillation import (
    MatchAttentions,
    MatchHiddenStates,
    MatchSimilarities,
    SoftTargets,
)
from keras_bert_lite.layers.embeddings import Embeddings
from keras_bert_lite.layers.encoder import Encoder
from keras_bert_lite.layers.encoder_block import EncoderBlock
from keras_bert_lite.layers.feed_forward import FeedForward
from keras_bert_lite.layers.heads import ClassificationHead, DenseHead, RegressionHead
from keras_bert_lite.layers.masked_lm_head import MaskedLMTransform, VocabularyBias
from keras_bert_lite.layers.pooler import Pooler
from keras_bert_lite.layers.positions import SequencePositions, TakePositions
from keras_bert_lite.layers.replaced_tokens import ReplaceTokens, WithSeenTokens
from keras_bert_lite.layers.task_output import TaskOutput
from keras_bert_lite.layers.teacher import Teacher
from keras_bert_lite.layers.token_convolution import TokenConvolution
from keras_bert_lite.layers.token_heads import ReplacedTokenHead, SpanHead

__all__ = [
    "CRF",
    "CRFDecoder",
    "ClassificationHead",
    "DenseHead",
    "DisentangledAttention",
    "Embeddings",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "GradientDisentangledEmbeddings",
    "HasTokens",
    "JoinChoices",
    "MaskedLMTransform",
    "MatchAttentions",
    "MatchHiddenStates",
    "MatchSimilarities",
    "Pooler",
    "RegressionHead",
    "ReplaceTokens",
    "ReplacedTokenHead",
    "SelfAttention",
    "SequencePositions",
    "SoftTargets",
    "SpanHead",
    "SplitChoices",
    "TakePositions",
    "TaskOutput",
    "Teacher",
    "TokenConvolution",
    "VocabularyBias",
    "WithSeenTokens",
]

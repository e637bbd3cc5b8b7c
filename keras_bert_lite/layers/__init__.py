"""Keras layers of the BERT family, on `keras.ops`, for any backend."""

from keras_bert_lite.layers.attention.disentangled_attention import (
    DisentangledAttention,
)
from keras_bert_lite.layers.attention.relative_bias import RelativeBiasTable
from keras_bert_lite.layers.attention.relative_positions import RelativeTable
from keras_bert_lite.layers.attention.rotary import RotaryPositions
from keras_bert_lite.layers.attention.self_attention import SelfAttention
from keras_bert_lite.layers.distillation import (
    AttentionDistillation,
    HiddenStateDistillation,
    LogitDistillation,
    SimilarityDistillation,
    Teacher,
)
from keras_bert_lite.layers.electra import (
    AppendTokenIds,
    GradientDisentangledEmbeddings,
    ReplaceTokens,
)
from keras_bert_lite.layers.embeddings import Embeddings
from keras_bert_lite.layers.encoder import Encoder
from keras_bert_lite.layers.encoder_block import EncoderBlock
from keras_bert_lite.layers.feed_forward import FeedForward
from keras_bert_lite.layers.grouping import (
    AnyToken,
    CompareTexts,
    FlattenGroups,
    RestoreGroups,
)
from keras_bert_lite.layers.heads.crf import CRF, CRFDecoder
from keras_bert_lite.layers.heads.dense_heads import (
    ClassificationHead,
    DenseHead,
    RegressionHead,
)
from keras_bert_lite.layers.heads.masked_lm_head import (
    MaskedLMTransform,
    VocabularyBias,
    VocabularyScores,
)
from keras_bert_lite.layers.heads.token_heads import ReplacedTokenHead, SpanHead
from keras_bert_lite.layers.layer_mix import LayerMix
from keras_bert_lite.layers.layer_norm import LayerNorm
from keras_bert_lite.layers.pooler import Pooler
from keras_bert_lite.layers.take_positions import SequencePositions, TakePositions
from keras_bert_lite.layers.task_output import TaskOutput
from keras_bert_lite.layers.token_convolution import TokenConvolution
from keras_bert_lite.layers.unit_normalization import UnitNormalization

__all__ = [
    "CRF",
    "AnyToken",
    "AppendTokenIds",
    "AttentionDistillation",
    "CRFDecoder",
    "ClassificationHead",
    "CompareTexts",
    "DenseHead",
    "DisentangledAttention",
    "Embeddings",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "FlattenGroups",
    "GradientDisentangledEmbeddings",
    "HiddenStateDistillation",
    "LayerMix",
    "LayerNorm",
    "LogitDistillation",
    "MaskedLMTransform",
    "Pooler",
    "RegressionHead",
    "RelativeBiasTable",
    "RelativeTable",
    "ReplaceTokens",
    "ReplacedTokenHead",
    "RestoreGroups",
    "RotaryPositions",
    "SelfAttention",
    "SequencePositions",
    "SimilarityDistillation",
    "SpanHead",
    "TakePositions",
    "TaskOutput",
    "Teacher",
    "TokenConvolution",
    "UnitNormalization",
    "VocabularyBias",
    "VocabularyScores",
]

"""BERT as Keras layers: from raw text to a served model."""

from keras_bert_lite import layers, serving
from keras_bert_lite._version import __version__
from keras_bert_lite.checkpoints.load import load_encoder, load_model
from keras_bert_lite.checkpoints.tokenizer_files import (
    load_preprocessor,
    load_tokenizer,
)
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.models.classifier import text_classifier
from keras_bert_lite.models.encoder import (
    encoder,
    set_remove_padding,
    with_internals,
)
from keras_bert_lite.models.text_model import TextModel, with_text
from keras_bert_lite.serving.client import Client
from keras_bert_lite.serving.export import export_saved_model
from keras_bert_lite.serving.litert import export_litert
from keras_bert_lite.serving.offline import predict_texts
from keras_bert_lite.serving.onnx import export_onnx
from keras_bert_lite.serving.runtimes import LiteRTModel, OnnxModel
from keras_bert_lite.serving.servable import check_servable
from keras_bert_lite.serving.tf_hub import export_tf_hub
from keras_bert_lite.text.packing import Preprocessor
from keras_bert_lite.text.vocabulary import learn_vocabulary
from keras_bert_lite.text.wordpiece import WordPieceTokenizer

__all__ = [
    "Client",
    "EncoderConfig",
    "LiteRTModel",
    "OnnxModel",
    "Preprocessor",
    "TextModel",
    "WordPieceTokenizer",
    "__version__",
    "check_servable",
    "encoder",
    "export_litert",
    "export_onnx",
    "export_saved_model",
    "export_tf_hub",
    "layers",
    "learn_vocabulary",
    "load_encoder",
    "load_model",
    "load_preprocessor",
    "load_tokenizer",
    "predict_texts",
    "serving",
    "set_remove_padding",
    "text_classifier",
    "with_internals",
    "with_text",
]

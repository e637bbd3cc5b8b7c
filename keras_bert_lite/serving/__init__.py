"""Serving: SavedModels, what servers need beside them, and calling them."""

from keras_bert_lite.serving.client import Client
from keras_bert_lite.serving.export import export_saved_model
from keras_bert_lite.serving.litert import export_litert
from keras_bert_lite.serving.offline import predict_texts
from keras_bert_lite.serving.onnx import export_onnx
from keras_bert_lite.serving.runtimes import LiteRTModel, OnnxModel
from keras_bert_lite.serving.servable import ServableReport, check_servable
from keras_bert_lite.serving.server_config import (
    batching_parameters,
    model_config,
    monitoring_config,
)
from keras_bert_lite.serving.server_files import compose_file, write_server_files
from keras_bert_lite.serving.tf_hub import export_tf_hub
from keras_bert_lite.serving.warmup import read_warmup, replay_warmup, write_warmup

__all__ = [
    "Client",
    "LiteRTModel",
    "OnnxModel",
    "ServableReport",
    "batching_parameters",
    "check_servable",
    "compose_file",
    "export_litert",
    "export_onnx",
    "export_saved_model",
    "export_tf_hub",
    "model_config",
    "monitoring_config",
    "predict_texts",
    "read_warmup",
    "replay_warmup",
    "write_server_files",
    "write_warmup",
]

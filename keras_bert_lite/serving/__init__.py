"""Serving: SavedModel export and checks, server files, and a client."""

from keras_bert_lite.serving.check.servable import ServableReport, check_servable
from keras_bert_lite.serving.client import Client
from keras_bert_lite.serving.offline import predict_texts
from keras_bert_lite.serving.runtimes.litert import export_litert
from keras_bert_lite.serving.runtimes.onnx import export_onnx
from keras_bert_lite.serving.runtimes.openvino import export_openvino
from keras_bert_lite.serving.runtimes.runtime_models import (
    LiteRTModel,
    OnnxModel,
    OpenVinoModel,
)
from keras_bert_lite.serving.saved_model.export import export_saved_model
from keras_bert_lite.serving.saved_model.server_config import (
    batching_parameters,
    model_config,
    monitoring_config,
)
from keras_bert_lite.serving.saved_model.server_files import (
    compose_file,
    write_server_files,
)
from keras_bert_lite.serving.saved_model.tf_hub import export_tf_hub
from keras_bert_lite.serving.saved_model.warmup import (
    read_warmup,
    replay_warmup,
    write_warmup,
)

__all__ = [
    "Client",
    "LiteRTModel",
    "OnnxModel",
    "OpenVinoModel",
    "ServableReport",
    "batching_parameters",
    "check_servable",
    "compose_file",
    "export_litert",
    "export_onnx",
    "export_openvino",
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

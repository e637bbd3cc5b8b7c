"""The protocol buffers of TensorFlow Serving that this package reads or writes.

They are built from descriptors, because tensorflow-serving-api ties TensorFlow and
protobuf to its own versions. Fields have the names, numbers and types of
`tensorflow_serving/apis/*.proto` and `tensorflow_serving/config/*.proto`
(https://github.com/tensorflow/serving); fields that are not used here are left out. A
message's own name is neither sent nor written, so the package name below keeps these
classes apart from those of tensorflow-serving-api, which may be imported as well.
"""

from typing import Any

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    wrappers_pb2,
)

from keras_bert_lite._tensorflow import tf

PREDICT = "/tensorflow.serving.PredictionService/Predict"  # the method's name in gRPC

_PACKAGE = "keras_bert_lite.serving"
_TENSOR = tf.make_tensor_proto(0).DESCRIPTOR
_INT64_VALUE = wrappers_pb2.Int64Value.DESCRIPTOR
_Field = descriptor_pb2.FieldDescriptorProto


def _message(name: str, *fields: Any, **parts: Any) -> Any:
    return descriptor_pb2.DescriptorProto(name=name, field=fields, **parts)


def _field(name: str, number: int, kind: Any, repeated: bool = False) -> Any:
    """Describes a field, whose kind is a scalar type or the name of a message."""
    label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    field = _Field(name=name, number=number, label=label)
    if isinstance(kind, str):
        full_name = kind if "." in kind else f"{_PACKAGE}.{kind}"
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{full_name}"
    else:
        field.type = kind
    return field


def _with_tensors(name: str, tensors: str, number: int, spec_number: int) -> Any:
    """Describes a message with a model's name and a map of tensors by name."""
    entry = f"{tensors.capitalize()}Entry"
    map_entry = _message(
        entry,
        _field("key", 1, _Field.TYPE_STRING),
        _field("value", 2, _TENSOR.full_name),
        options=descriptor_pb2.MessageOptions(map_entry=True),
    )
    return _message(
        name,
        _field("model_spec", spec_number, "ModelSpec"),
        _field(tensors, number, f"{_PACKAGE}.{name}.{entry}", repeated=True),
        nested_type=[map_entry],
    )


def _one_of(name: str, oneof: str, *fields: Any) -> Any:
    """Describes a message in which at most one field is set."""
    for field in fields:
        field.MergeFrom(_Field(oneof_index=0))
    declaration = descriptor_pb2.OneofDescriptorProto(name=oneof)
    return _message(name, *fields, oneof_decl=[declaration])


_FILE = descriptor_pb2.FileDescriptorProto(
    name="keras_bert_lite/serving/messages.proto",
    package=_PACKAGE,
    syntax="proto3",
    dependency=[_TENSOR.file.name, _INT64_VALUE.file.name],
    message_type=[
        _message(
            "ModelSpec",
            _field("name", 1, _Field.TYPE_STRING),
            _field("version", 2, _INT64_VALUE.full_name),
            _field("signature_name", 3, _Field.TYPE_STRING),
        ),
        _with_tensors("PredictRequest", "inputs", 2, spec_number=1),
        _with_tensors("PredictResponse", "outputs", 1, spec_number=2),
        _message("PredictLog", _field("request", 1, "PredictRequest")),
        _message("OtherLog"),  # recognized, never read
        _one_of(
            "PredictionLog",
            "log_type",
            _field("classify_log", 2, "OtherLog"),
            _field("regress_log", 3, "OtherLog"),
            _field("multi_inference_log", 4, "OtherLog"),
            _field("session_run_log", 5, "OtherLog"),
            _field("predict_log", 6, "PredictLog"),
            _field("predict_streamed_log", 7, "OtherLog"),
        ),
        _message("LatestVersions", _field("num_versions", 1, _Field.TYPE_UINT32)),
        _message("AllVersions"),
        _message(
            "SpecificVersions",
            _field("versions", 1, _Field.TYPE_INT64, repeated=True),
        ),
        _one_of(
            "VersionPolicy",
            "policy_choice",
            _field("latest", 100, "LatestVersions"),
            _field("all", 101, "AllVersions"),
            _field("specific", 102, "SpecificVersions"),
        ),
        _message(
            "ModelConfig",
            _field("name", 1, _Field.TYPE_STRING),
            _field("base_path", 2, _Field.TYPE_STRING),
            _field("model_platform", 4, _Field.TYPE_STRING),
            _field("model_version_policy", 7, "VersionPolicy"),
        ),
        _message("ModelConfigList", _field("config", 1, "ModelConfig", repeated=True)),
        _message(
            "ModelServerConfig", _field("model_config_list", 1, "ModelConfigList")
        ),
    ],
)
_POOL = descriptor_pool.Default()  # where TensorFlow's TensorProto is
_POOL.AddSerializedFile(_FILE.SerializeToString())


def _class(name: str) -> Any:
    descriptor = _POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}")
    return message_factory.GetMessageClass(descriptor)


PredictRequest = _class("PredictRequest")
PredictResponse = _class("PredictResponse")
PredictionLog = _class("PredictionLog")
ModelServerConfig = _class("ModelServerConfig")

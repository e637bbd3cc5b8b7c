"""Our messages are those of TensorFlow Serving, byte by byte."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2
from tensorflow_serving.config import model_server_config_pb2

from keras_bert_lite.serving import messages

TENSORS = {
    "text": tf.make_tensor_proto(["A fine day!", "", "Größe 東京"]),
    "token_ids": tf.make_tensor_proto(np.ones((2, 3), "int32")),
    "padding_mask": tf.make_tensor_proto(np.ones((2, 3), bool)),
}


def request(cls):
    message = cls()
    message.model_spec.name = "mood"
    message.model_spec.signature_name = "serving_default"
    message.model_spec.version.value = 3
    for name, tensor in TENSORS.items():
        message.inputs[name].CopyFrom(tensor)
    return message


def response(cls):
    message = cls()
    message.model_spec.name = "mood"
    for name, tensor in TENSORS.items():
        message.outputs[name].CopyFrom(tensor)
    return message


def log(cls):
    message = cls()
    with_request = request(messages.PredictRequest).SerializeToString()
    message.predict_log.request.ParseFromString(with_request)
    return message


def server_config(cls):
    message = cls()
    add = message.model_config_list.config.add
    add(name="mood", base_path='/models/été "x"', model_platform="tensorflow")
    policies = [add(name="a"), add(name="b"), add(name="c")]
    policies[0].model_version_policy.latest.num_versions = 2
    policies[1].model_version_policy.all.SetInParent()
    policies[2].model_version_policy.specific.versions.extend([1, 2**40])
    return message


CASES = [
    (request, messages.PredictRequest, predict_pb2.PredictRequest),
    (response, messages.PredictResponse, predict_pb2.PredictResponse),
    (log, messages.PredictionLog, prediction_log_pb2.PredictionLog),
    (
        server_config,
        messages.ModelServerConfig,
        model_server_config_pb2.ModelServerConfig,
    ),
]


@pytest.mark.parametrize(
    ("fill", "ours", "theirs"), CASES, ids=[x[0].__name__ for x in CASES]
)
def test_messages_are_those_of_the_api(fill, ours, theirs):
    message, expected = fill(ours), fill(theirs)
    sent = message.SerializeToString(deterministic=True)
    assert sent == expected.SerializeToString(deterministic=True)
    assert fill(ours) == ours.FromString(sent)
    assert text_format.MessageToString(message) == text_format.MessageToString(expected)


@pytest.mark.parametrize("kind", ["classify_log", "predict_streamed_log"])
def test_other_records_are_recognized(kind):
    log = prediction_log_pb2.PredictionLog()
    getattr(log, kind).SetInParent()
    read = messages.PredictionLog.FromString(log.SerializeToString())
    assert read.WhichOneof("log_type") == kind

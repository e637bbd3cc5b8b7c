"""The texts that TensorFlow Serving and Docker Compose read."""

from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, message_factory, text_format
from tensorflow_serving.config import model_server_config_pb2

from keras_bert_lite.serving.saved_model.server_config import (
    METRICS_PATH,
    batching_parameters,
    model_config,
    monitoring_config,
)
from keras_bert_lite.serving.saved_model.server_files import (
    compose_file,
    write_server_files,
)

COMPOSE = """\
services:
  "sentiment":
    image: "tensorflow/serving:2.20.0"
    command:
      - "--model_config_file=/models/sentiment/model.config"
      - "--monitoring_config_file=/models/sentiment/monitoring.config"
      - "--enable_batching=true"
      - "--batching_parameters_file=/models/sentiment/batching_params.pbtxt"
    ports:
      - "127.0.0.1:8500:8500"
      - "127.0.0.1:8501:8501"
    volumes:
      - type: bind
        source: "./my models/$$1"
        target: "/models/sentiment"
        read_only: true
    healthcheck:
      test: ["CMD", "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8500"]
      interval: 5s
      timeout: 3s
      start_period: 60s
    restart: unless-stopped
"""
BAD_NAMES = ["", "a b", "a/b", "a\nb", "..", "-a", "é", None, 1]


def served(*arguments):
    config = model_server_config_pb2.ModelServerConfig()
    text_format.Parse(model_config(*arguments), config)
    return config.model_config_list.config


def test_model_config():
    (model,) = served("sentiment", '/models/été "x"')
    assert model.name == "sentiment"
    assert model.base_path == '/models/été "x"'
    assert model.model_platform == "tensorflow"
    assert model.model_version_policy.latest.num_versions == 1


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (2, "latest { num_versions: 2 }"),
        ([1, 3], "specific { versions: 1 versions: 3 }"),
        ("all", "all { }"),
    ],
)
def test_version_policies(policy, text):
    (model,) = served("a", "/a", policy)
    written = text_format.MessageToString(model.model_version_policy, as_one_line=True)
    assert written == text


@pytest.mark.parametrize("policy", [0, -1, True, "latest", [], [0], 1.5, None])
def test_version_policy_refused(policy):
    with pytest.raises(ValueError, match="`version_policy` must be"):
        model_config("a", "/a", policy)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_refused(name):
    with pytest.raises(ValueError, match="`name` must be letters"):
        model_config(name, "/a")
    with pytest.raises(ValueError, match="`name` must be letters"):
        compose_file(name)


@pytest.mark.parametrize("path", ["", " ", "a\nb", "a\0", None])
def test_paths_refused(path):
    with pytest.raises(ValueError, match="`base_path` must be a path"):
        model_config("a", path)
    if path is not None:
        with pytest.raises(ValueError, match="`directory` must be a path"):
            compose_file("a", path)


def batching_message():
    """TF Serving's BatchingParameters, which its Python package leaves out."""
    file = descriptor_pb2.FileDescriptorProto(name="batching.proto", syntax="proto3")
    value = file.message_type.add(name="Value")
    value.field.add(name="value", number=1, type="TYPE_INT64", label="LABEL_OPTIONAL")
    message = file.message_type.add(name="BatchingParameters")
    names = ("max_batch_size", "batch_timeout_micros", "max_enqueued_batches")
    for number, name in enumerate((*names, "num_batch_threads"), start=1):
        field = message.field.add(name=name, number=number, label="LABEL_OPTIONAL")
        field.type, field.type_name = "TYPE_MESSAGE", "Value"
    message.field.add(
        name="allowed_batch_sizes", number=6, type="TYPE_INT64", label="LABEL_REPEATED"
    )
    return message_factory.GetMessages([file])["BatchingParameters"]()


def test_batching_parameters():
    text = batching_parameters(64, 500, 4, 10, allowed_batch_sizes=(8, 64))
    batching = text_format.Parse(text, batching_message())
    assert batching.max_batch_size.value == 64
    assert batching.batch_timeout_micros.value == 500
    assert batching.num_batch_threads.value == 4
    assert batching.max_enqueued_batches.value == 10
    assert list(batching.allowed_batch_sizes) == [8, 64]


def test_the_server_chooses_its_threads():
    batching = text_format.Parse(batching_parameters(), batching_message())
    assert not batching.HasField("num_batch_threads")
    assert list(batching.allowed_batch_sizes) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_batch_size", 0),
        ("max_batch_size", 1.5),
        ("batch_timeout_micros", -1),
        ("num_batch_threads", True),
        ("max_enqueued_batches", "1"),
        ("allowed_batch_sizes", [0, 32]),
        ("allowed_batch_sizes", [8, 16]),
        ("allowed_batch_sizes", [8, 8, 32]),
        ("allowed_batch_sizes", [16, 8, 32]),
    ],
)
def test_batching_refused(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must"):
        batching_parameters(**{name: value})


def test_compose_file():
    text = compose_file("sentiment", "./my models/$1", batching=True)
    assert text == COMPOSE
    assert "batching" not in compose_file("sentiment")


def test_threads_of_an_operation():
    assert "parallelism" not in compose_file("sentiment")
    text = compose_file("sentiment", intra_op_threads=1)
    assert '      - "--tensorflow_intra_op_parallelism=1"\n' in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("image", "a b"),
        ("image", "a\nb"),
        ("image", ""),
        ("host", "localhost"),
        ("host", "0.0.0.0:80"),
        ("grpc_port", 0),
        ("rest_port", 65536),
        ("rest_port", "8501"),
        ("intra_op_threads", 0),
    ],
)
def test_compose_refused(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        compose_file("a", **{name: value})


def test_files_are_written_beside_the_versions(tmp_path):
    (tmp_path / "mood" / "1").mkdir(parents=True)
    directory, batching = tmp_path / "mood", batching_parameters()
    write_server_files(directory, batching=batching)
    paths = write_server_files(directory, batching=batching, rest_port=80)
    assert sorted(x.name for x in directory.iterdir()) == [
        "1",
        "batching_params.pbtxt",
        "compose.yaml",
        "model.config",
        "monitoring.config",
    ]
    texts = {path.name: path.read_text() for path in paths}
    assert texts["batching_params.pbtxt"] == batching
    assert texts["model.config"] == model_config("mood", "/models/mood")
    assert texts["compose.yaml"] == compose_file("mood", batching=True, rest_port=80)
    assert texts["monitoring.config"] == monitoring_config()
    assert METRICS_PATH in texts["monitoring.config"]
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o644}


def test_a_refusal_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="`image` must be"):
        write_server_files(tmp_path, "mood", image="")
    with pytest.raises(ValueError, match="`name` must be letters"):
        write_server_files(tmp_path, "not a name")
    with pytest.raises(FileNotFoundError, match="`directory` does not exist"):
        write_server_files(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError("No space left on device")

    write_server_files(tmp_path, "mood")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_server_files(tmp_path, "other")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before

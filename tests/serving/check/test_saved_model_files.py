"""What is not a whole SavedModel is named, without a traceback."""

import re

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_bert_lite.serving.check.servable import check_servable
from tests.serving.saved_models import lengths, save

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")


def only_problem(path):
    report = check_servable(path)
    assert report.versions == ()
    (problem,) = report.problems
    return problem


def frozen_graph():
    graph = tf.Graph()
    with graph.as_default():
        tf.constant([1.0, 2.0], name="x")
    return graph.as_graph_def().SerializeToString()


def write(path, content=b""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def path(tmp_path):
    return save(tmp_path / "1", lengths)


def test_nothing_there(tmp_path):
    assert only_problem(tmp_path / "no").endswith("no does not exist.")


def test_empty_folder(tmp_path):
    assert "is empty. Write it with" in only_problem(tmp_path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model.keras", "a Keras file.*`with_text`"),
        ("model.h5", "a Keras file"),
        ("saved_model.pb", "a file. Pass its folder"),
        ("notes.txt", "a file; a SavedModel is a folder"),
    ],
)
def test_files(tmp_path, name, expected):
    assert re.search(expected, only_problem(write(tmp_path / name)))


def test_frozen_graphs(tmp_path):
    file = write(tmp_path / "frozen.pb", frozen_graph())
    assert "is a frozen TensorFlow 1 graph" in only_problem(file)
    file = write(tmp_path / "1" / "saved_model.pb", frozen_graph())
    assert "is a frozen TensorFlow 1 graph" in only_problem(file.parent)


def test_folders_of_other_programs(tmp_path):
    for name in ("config.json", "model.safetensors"):
        write(tmp_path / name)
    problem = only_problem(tmp_path)
    assert "no numbered version, only ['config.json', 'model.safetensors']" in problem


def test_half_written(path):
    (path / "saved_model.pb").unlink()
    assert "is incomplete" in only_problem(path)


def test_another_form(tmp_path):
    write(tmp_path / "1" / "saved_model.cpb")
    assert "another form than saved_model.pb" in only_problem(tmp_path / "1")


@pytest.mark.parametrize("content", [b"", b"\xff" * 100, b"not a protobuf"])
def test_corrupted(path, content):
    (path / "saved_model.pb").write_bytes(content)
    problem = only_problem(path)
    assert "cannot be parsed" in problem or "tags: []" in problem


def test_cut_short(path):
    file = path / "saved_model.pb"
    file.write_bytes(file.read_bytes()[:-50])
    assert "is corrupt or not a SavedModel" in only_problem(path)


def test_other_tags(path):
    file = path / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    saved.meta_graphs[0].meta_info_def.tags[:] = ["train"]
    file.write_bytes(saved.SerializeToString())
    assert "Received the tags: [['train']]" in only_problem(path)


def test_missing_and_broken_variables(tmp_path):
    weight = tf.Variable([1.0, 2.0])
    numbers = tf.TensorSpec([None, 2], tf.float32, "x")
    module = tf.Module()
    module.weight = weight
    module.f = tf.function(lambda x: {"y": x * weight}, input_signature=[numbers])
    tf.saved_model.save(module, str(tmp_path / "1"), signatures=module.f)
    assert check_servable(tmp_path / "1").ok
    (shard,) = (tmp_path / "1" / "variables").glob("*.data*")
    shard.write_bytes(shard.read_bytes()[:3])
    assert "does not load here" in only_problem(tmp_path / "1")
    shard.unlink()
    assert "does not load here" in only_problem(tmp_path / "1")

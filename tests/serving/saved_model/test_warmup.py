"""Warm-up requests: written, read back, replayed."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from keras_bert_lite.serving.saved_model.warmup import (
    read_warmup,
    replay_warmup,
    write_warmup,
)
from tests.serving.saved_models import lengths, save

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")
FILE = "assets.extra/tf_serving_warmup_requests"


@pytest.fixture
def path(tmp_path):
    return save(tmp_path / "lengths" / "1", lengths)


def test_round_trip(path):
    ids = {
        "token_ids": np.array([[2, 7], [2, 0]], "int32"),
        "padding_mask": np.array([[True, True], [True, False]]),
    }
    texts = np.array(["A fine day!", "", "Größe 東京"], object)
    requests = [("serving_default", {"text": texts}), ("token_ids", ids)]
    assert write_warmup(path, requests) == path / FILE
    (first, inputs), (second, same_ids) = read_warmup(path)
    assert (first, second) == ("serving_default", "token_ids")
    assert [text.decode() for text in inputs["text"]] == texts.tolist()
    assert sorted(same_ids) == sorted(ids)
    for name, x in ids.items():
        assert same_ids[name].dtype == x.dtype
        np.testing.assert_array_equal(same_ids[name], x)


def test_records_are_what_a_server_reads(path):
    write_warmup(path, [("serving_default", {"text": tf.constant(["a"])})])
    (record,) = tf.data.TFRecordDataset(str(path / FILE))
    log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
    request = log.predict_log.request
    assert request.model_spec.name == "lengths"
    assert request.model_spec.signature_name == "serving_default"
    assert not request.model_spec.HasField("version")
    assert list(request.inputs) == ["text"]


def test_writing_again_replaces(path):
    write_warmup(path, [("serving_default", {"text": ["a"]})] * 3)
    write_warmup(path, [("serving_default", {"text": ["b"]})])
    assert len(read_warmup(path)) == 1
    assert [p.name for p in (path / FILE).parent.iterdir()] == [(path / FILE).name]


def test_replay(path):
    write_warmup(
        path, [("serving_default", {"text": texts}) for texts in (["a"], ["b", ""])]
    )
    assert replay_warmup(path) == 2


def test_none(path):
    assert read_warmup(path) == []
    assert replay_warmup(path) == 0


@pytest.mark.parametrize("count", [0, 1001])
def test_too_many_or_none(path, count):
    requests = [("serving_default", {"text": ["a"]})] * count
    with pytest.raises(ValueError, match=f"`requests` must hold 1 to 1000.*: {count}"):
        write_warmup(path, requests)
    assert not (path / FILE).exists()


def test_a_thousand_fit(path):
    write_warmup(path, [("serving_default", {"text": ["a"]})] * 1000)
    assert len(read_warmup(path)) == 1000


def test_more_than_a_server_takes(path):
    write_warmup(path, [("serving_default", {"text": ["a"]})] * 1000)
    content = (path / FILE).read_bytes()
    (path / FILE).write_bytes(content + content[: len(content) // 1000])
    with pytest.raises(ValueError, match=r"at most 1000.*Received: 1001"):
        replay_warmup(path)


def test_there_must_be_a_saved_model(tmp_path):
    with pytest.raises(FileNotFoundError, match="`version_directory` must hold"):
        write_warmup(tmp_path, [("serving_default", {"text": ["a"]})])


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (("other", {"text": ["a"]}), "no signature 'other', only"),
        (("serving_default", {"words": ["a"]}), r"takes \['text'\].*\['words'\]"),
        (("serving_default", {"text": [1]}), "must be string .* Received: int32"),
        (("serving_default", {"text": "a"}), r"of shape \(None,\)"),
    ],
)
def test_a_failing_record_is_named(path, request_, expected):
    write_warmup(path, [("serving_default", {"text": ["fine"]}), request_])
    with pytest.raises(ValueError, match=f"Warm-up record 1 .*fails.*{expected}"):
        replay_warmup(path, tf.saved_model.load(str(path)))


def test_a_record_that_fails_while_it_runs(tmp_path):
    def numbers(text):
        return {"number": tf.strings.to_number(text)}

    path = save(tmp_path / "1", numbers)
    write_warmup(path, [("serving_default", {"text": ["1", "two"]})])
    with pytest.raises(ValueError, match=r"record 0 .*could not .*convert string: two"):
        replay_warmup(path)


def test_broken_files(path):
    write_warmup(path, [("serving_default", {"text": ["a"]})])
    content = (path / FILE).read_bytes()
    (path / FILE).write_bytes(content[:-3])
    with pytest.raises(ValueError, match="is not a complete TFRecord file"):
        read_warmup(path)
    with tf.io.TFRecordWriter(str(path / FILE)) as writer:
        writer.write(b"\xff\xff\xff")
    with pytest.raises(ValueError, match=r"Record 0 of .* is not a PredictionLog"):
        read_warmup(path)
    with tf.io.TFRecordWriter(str(path / FILE)) as writer:
        writer.write(b"")
    with pytest.raises(ValueError, match="must hold a Predict request"):
        read_warmup(path)

"""Descriptions in files of other engines, damaged or of unknown origin."""

import json

import keras
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.serving.runtimes.file_metadata import (
    METADATA_FILE,
    file_metadata,
    read_metadata,
)
from keras_bert_lite.serving.runtimes.litert import export_litert
from keras_bert_lite.serving.runtimes.openvino import export_openvino
from keras_bert_lite.serving.runtimes.runtime_models import LiteRTModel, OpenVinoModel
from keras_bert_lite.tasks.text_model import load_text_model
from tests import tiny

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")
PATH = "model.onnx"


@pytest.fixture(scope="module")
def model():
    preprocessor = tiny.preprocessor(sequence_length=24)
    return kbl.with_text(tiny.classifier(), preprocessor)


@pytest.fixture(scope="module")
def text(model):
    return file_metadata(model)


def changed(text, *path, value):
    """Returns a description with another value; a value of `...` removes the key."""
    description = json.loads(text)
    *outer, last = path
    part = description
    for key in outer:
        part = part[key]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    return json.dumps(description)


TOKENIZER = ("preprocessor", "config", "tokenizer")
LABELS = ("answer", "config", "labels")


def test_the_one_that_was_written(text, model):
    description = read_metadata(text, PATH)
    assert description.inputs == ["text"]
    assert description.answer.labels == ["bad", "fine"]
    assert description.preprocessor.get_config() == model.layers[1].get_config()
    description.check_graph({"logits": 2}, 24)
    description.check_graph({"logits": "unknown"})


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", "{", '{"a": 1, "a": 2}'])
def test_no_description(content):
    with pytest.raises(ValueError, match=f"{PATH}: the description"):
        read_metadata(content, PATH)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("preprocessor",), ..., "it lacks 'preprocessor'"),
        (("preprocessor",), None, "`preprocessor` must be"),
        (("preprocessor",), {"class_name": "function"}, "`preprocessor` must be"),
        (("preprocessor", "registered_name"), "keras_bert_lite>Pooler", "must be"),
        ((*TOKENIZER, "config", "vocabulary"), "/etc/passwd", "must be a list"),
        ((*TOKENIZER, "registered_name"), "keras_bert_lite>Pooler", "`tokenizer` must"),
        (("preprocessor", "config", "sequence_length"), 25, "at most the model's"),
        (("preprocessor", "config", "sequence_length"), None, "at most the model's"),
        (("preprocessor", "config", "sequence_length"), "x", "must be a whole number"),
        (("preprocessor", "config", "stride"), 2, "one row per text"),
        (("inputs",), ["words"], "`inputs` must be one of"),
        (("inputs",), 5, "`inputs` must be one of"),
        (("answer", "registered_name"), "keras_bert_lite>Pooler", "`answer` must"),
        (LABELS, 5, "`labels` must be a list of strings"),
        (("vocabulary_size",), "many", "`vocabulary_size` must be a positive"),
        (("max_sequence_length",), -1, "`max_sequence_length` must be a positive"),
    ],
)
def test_damaged_ones_are_refused_in_a_sentence(text, path, value, message):
    with pytest.raises(ValueError, match=f"^{PATH}: the description.*{message}"):
        read_metadata(changed(text, *path, value=value), PATH)


def test_a_longer_vocabulary(text):
    pieces = [*tiny.VOCABULARY, "more"]
    longer = changed(text, *TOKENIZER, "config", "vocabulary", value=pieces)
    with pytest.raises(ValueError, match=f"{PATH}: .*at most the {len(pieces) - 1} pi"):
        read_metadata(longer, PATH)


@pytest.mark.parametrize("labels", [["one"], ["one", "two", "three"]])
def test_labels_are_as_many_as_logits(text, labels):
    description = read_metadata(changed(text, *LABELS, value=labels), PATH)
    with pytest.raises(ValueError, match=f"{PATH}: `labels` must be .* the 2 logits"):
        description.check_graph({"logits": 2})
    with pytest.raises(ValueError, match=f"{PATH}: answers need the output `logits`"):
        description.check_graph({"sentence_embedding": 2})


def test_openvino_checks_the_graph(text, model, tmp_path):
    path = export_openvino(model, tmp_path / "model")
    labels = changed(text, *LABELS, value=["one", "two", "three"])
    (path / METADATA_FILE).write_text(labels)
    with pytest.raises(ValueError, match=r"model: `labels` must be .* the 2 logits"):
        OpenVinoModel(path)


def test_litert_checks_the_lengths(model, tmp_path, monkeypatch):
    path = export_litert(model, tmp_path / "model.tflite")
    text = file_metadata(kbl.with_text(tiny.classifier(), tiny.preprocessor(23)))
    longer = changed(text, "preprocessor", "config", "sequence_length", value=30)
    longer = changed(longer, "max_sequence_length", value=30)
    module = "keras_bert_lite.serving.runtimes.runtime_models._litert_metadata"
    monkeypatch.setattr(module, lambda path: longer)
    with pytest.raises(ValueError, match=r"tflite: .* at most 24 tokens.*length=30"):
        LiteRTModel(path)


@pytest.mark.parametrize("labels", [["one"], ["one", "two", "three"]])
def test_a_keras_file_with_other_labels(model, labels, tmp_path, monkeypatch):
    answer = model.get_layer("answer")
    monkeypatch.setattr(answer, "labels", labels)
    model.save(tmp_path / "model.keras")
    message = r"(?s)model.keras cannot be loaded: .*`labels` must be .* the 2 logits"
    with pytest.raises(ValueError, match=message):
        load_text_model(tmp_path / "model.keras")
    with pytest.raises(ValueError, match=r"`labels` must be .* the 2 logits"):
        keras.models.load_model(tmp_path / "model.keras")

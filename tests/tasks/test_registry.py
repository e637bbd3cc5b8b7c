"""Models know their task, whatever they have been through."""

import keras
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.tasks.registry import TASKS, task_of
from keras_bert_lite.tasks.task import (
    head_layers,
    labels_by_output,
    labels_of,
    marked_model,
    options_of,
)
from tests import tiny
from tests.models.samples import tensorflow_only

LABELS = ["O", "B-PER", "I-PER"]
BUILDERS = {
    "text_classification": lambda x: kbl.text_classifier(x, LABELS, windows="mean"),
    "multi_label_classification": lambda x: kbl.multi_label_classifier(x, LABELS),
    "regression": lambda x: kbl.regressor(x, pooling="max"),
    "token_classification": lambda x: kbl.token_classifier(x, LABELS),
    "crf_token_classification": lambda x: kbl.token_classifier(x, LABELS, crf=True),
    "intent_and_slots": lambda x: kbl.intent_and_slot_classifier(x, list("ab"), LABELS),
    "question_answering": kbl.question_answerer,
    "multiple_choice": kbl.multiple_choice,
    "ranking": lambda x: kbl.ranker(x, activation="sigmoid"),
    "masked_lm": lambda x: kbl.masked_lm(x, enhanced=True),
    "sentence_embedding": kbl.sentence_encoder,
    "pretraining": kbl.pretraining.bert_pretrainer,
    "next_sentence": kbl.pretraining.next_sentence_predictor,
    "replaced_tokens": kbl.pretraining.replaced_token_detector,
    "replaced_token_pretraining": kbl.pretraining.electra_pretrainer,
}


def record(model: keras.Model) -> tuple:
    """All that a model says of its task."""
    heads = {name: type(layer) for name, layer in head_layers(model).items()}
    outputs = list(marked_model(model)[1])
    return task_of(model), outputs, heads, options_of(model), labels_by_output(model)


@pytest.mark.parametrize("name", TASKS)
def test_a_model_says_its_task_after_saving_and_cloning(name, tmp_path):
    model = BUILDERS[name](tiny.encoder())
    task, outputs, *_ = expected = record(model)
    assert task is TASKS[name]
    assert outputs == [output.name for output in task.outputs]
    assert set(outputs) == set(model.output)
    heads = head_layers(model).values()
    assert task.head is None or any(isinstance(x, task.head) for x in heads)
    model.save(tmp_path / "model.keras")
    assert record(keras.saving.load_model(tmp_path / "model.keras")) == expected
    assert record(keras.models.clone_model(model)) == expected


@tensorflow_only
def test_a_string_in_model_says_the_task_of_the_model_inside():
    model = kbl.token_classifier(tiny.encoder(), LABELS)
    assert record(kbl.with_text(model, tiny.preprocessor())) == record(model)


def test_masked_positions_have_the_task_of_the_model_they_are_of():
    model = kbl.pretraining.bert_pretrainer(tiny.encoder())
    assert record(kbl.pretraining.masked_positions_model(model)) == record(model)


def test_a_discriminator_is_a_detector_of_replaced_tokens():
    model = kbl.pretraining.electra_pretrainer(tiny.encoder())
    assert (
        task_of(kbl.pretraining.electra_discriminator(model))
        is TASKS["replaced_tokens"]
    )


def test_an_encoder_has_no_task():
    assert task_of(tiny.encoder()) is None
    assert labels_of(tiny.encoder()) is None


def test_labels_of_one_output():
    model = BUILDERS["token_classification"](tiny.encoder())
    assert labels_of(model) == labels_of(model, "logits") == LABELS
    assert labels_of(model, "other") is None


def test_refuses_tasks_that_this_version_does_not_have():
    inputs = keras.Input((3,))
    mark = kbl.layers.TaskOutput("parsing", "logits")
    with pytest.raises(ValueError, match=r"tasks \[.*\]. Received: 'parsing'"):
        task_of(keras.Model(inputs, mark(inputs)))

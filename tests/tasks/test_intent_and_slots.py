"""Intent and slots: two heads on one encoder."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.tasks.classification import LabelAnswer
from keras_bert_lite.tasks.intent_and_slots import IntentAndSlotAnswer
from keras_bert_lite.tasks.task import labels_of
from keras_bert_lite.tasks.token_classification import EntityAnswer
from keras_bert_lite.text.window_layer import TextWindows
from tests import tiny
from tests.conformance import EAGERLY, assert_all_close, randomize
from tests.models.samples import ids, tensorflow_only

INTENTS = ["ask", "tell", "greet"]
SLOTS = ["O", "B-day", "I-day"]
INPUTS = ids(lengths=(5, 3, 4, 2), width=5)
TEXTS = [
    "the day is fine",
    "",
    "weather the day the fine not bad is it ing a b c d e f",
]


def random_model(**changes):
    arguments = {"pooling": changes.pop("read", None)}
    encoder = tiny.encoder(**changes)
    model = kbl.intent_and_slot_classifier(encoder, INTENTS, SLOTS, **arguments)
    randomize(model)
    return model, encoder


@pytest.mark.parametrize("read", [None, "mean"])
def test_both_heads_read_one_pass(read):
    model, encoder = random_model(read=read)
    outputs, values = model(INPUTS), encoder(INPUTS)
    heads = [model.get_layer(f"{name}_head") for name in ("intent", "slot")]
    pooler = kbl.layers.Pooler("mean")
    vector = (
        values["pooled_output"]
        if read is None
        else pooler(values["sequence_output"], padding_mask=INPUTS["padding_mask"])
    )
    assert_all_close(outputs["intent_logits"], heads[0](vector))
    assert_all_close(outputs["slot_logits"], heads[1](values["sequence_output"]))
    encoders = [x for x in model.layers if isinstance(x, keras.Model)]
    assert len(encoders) == 1


def test_knows_the_labels_of_both():
    model = random_model()[0]
    assert labels_of(model, "intent_logits") == INTENTS
    assert labels_of(model, "slot_logits") == SLOTS
    with pytest.raises(ValueError, match="`output` must name one"):
        labels_of(model)


def test_trains_on_its_data_set():
    rows = [
        {"intent": "ask", "words": ["fine", "day"], "tags": ["O", "B-day"]},
        {"intent": 1, "words": ["weather"], "tags": ["O"]},
    ]
    data = kbl.intent_and_slot_dataset(rows, tiny.preprocessor(), INTENTS, SLOTS)
    inputs, targets, weights = next(iter(data))
    assert targets["intent_logits"].numpy().tolist() == [0, 1]
    assert targets["slot_logits"].numpy()[0].tolist()[:4] == [0, 0, 1, 0]
    assert weights["slot_logits"].numpy()[0].tolist()[:4] == [0, 1, 1, 0]
    model = random_model()[0]
    kbl.compile(model, steps=2, run_eagerly=EAGERLY)
    numpy = keras.tree.map_structure(np.array, (inputs, targets, weights))
    logs = model.train_on_batch(*numpy, return_dict=True)
    assert np.isfinite(logs["loss"])
    assert {"intent_logits_accuracy", "slot_logits_entity_f1"} < set(logs)


def test_refuses_intents_that_are_not_there():
    rows = [{"intent": "sing", "words": ["fine"], "tags": ["O"]}]
    with pytest.raises(ValueError, match="`intent` must be one of"):
        kbl.intent_and_slot_dataset(rows, tiny.preprocessor(), INTENTS, SLOTS)


def test_answers_are_those_of_a_label_and_of_entities():
    layer = TextWindows(tiny.preprocessor(8, stride=2))
    places = layer({"text": tf.constant(TEXTS)})
    windows, length = places["token_ids"].shape
    random = np.random.default_rng(0)
    intent = random.normal(size=(windows, 3)).astype("float32")
    slots = random.normal(size=(windows, length, 3)).astype("float32")
    values = {"intent_logits": intent, "slot_logits": slots}
    found = IntentAndSlotAnswer(INTENTS, SLOTS)({**places, **values})
    first = np.unique(places["window_rows"], return_index=True)[1]
    label = LabelAnswer(INTENTS)(tf.constant(intent[first]))
    assert found["label"].numpy().tolist() == label["label"].numpy().tolist()
    assert_all_close(found["label_scores"], label["scores"])
    entities = EntityAnswer(SLOTS)({**places, "logits": slots})
    for name, value in entities.items():
        assert np.array_equal(found[name], value)


@tensorflow_only
def test_from_strings_to_a_served_model(tmp_path):
    model, _ = random_model()
    tagger = kbl.with_text(model, tiny.preprocessor(), decoding="constrained")
    found = tagger.predict(TEXTS)
    path = kbl.export_saved_model(tagger, tmp_path, warmup=False)
    assert kbl.check_servable(path).ok
    served = tf.saved_model.load(path).signatures["serving_default"]
    answers = served(text=tf.constant(TEXTS))
    assert [x.decode() for x in answers["label"].numpy()] == found["label"].tolist()
    assert np.array_equal(answers["entity_starts"], found["entity_starts"])
    assert tagger.predict([])["entities"].shape[0] == 0
    tagger.save(tmp_path / "tagger.keras")
    again = keras.saving.load_model(tmp_path / "tagger.keras").predict(TEXTS)
    assert again["entities"].tolist() == found["entities"].tolist()


@tensorflow_only
def test_refuses_options_of_other_answers():
    model, _ = random_model()
    with pytest.raises(TypeError, match=r"'split_words'\] options.*'threshold'"):
        kbl.with_text(model, tiny.preprocessor(), threshold=0.5)


@tensorflow_only
def test_words_that_are_given_get_a_tag_each():
    model, _ = random_model()
    words = [text.split() for text in TEXTS]
    text_model = kbl.with_text(model, tiny.preprocessor(), split_words=True)
    found = text_model.predict(words, verbose=0)
    counts = (found["labels"] != "").sum(1).tolist()
    assert counts == [len(x) for x in words]
    plain = kbl.with_text(model, tiny.preprocessor()).predict(TEXTS, verbose=0)
    assert found["label"].tolist() == plain["label"].tolist()


@tensorflow_only
def test_padding_of_batches_is_that_of_entities():
    tagger = kbl.with_text(random_model()[0], tiny.preprocessor())
    found = tagger.predict(TEXTS, batch_size=1)
    assert (found["entity_starts"][1] == -1).all()


def test_hugging_face_has_no_such_class(tmp_path):
    model, _ = random_model()
    with pytest.raises(ValueError, match=r"no class for intent and slots.*intent_and"):
        kbl.save_hugging_face(model, None, tmp_path / "model")


def test_distillation_names_outputs():
    model, _ = random_model()
    student = kbl.distillation.distillation_model(random_model()[0], model)
    assert set(student.output) == {"intent_logits", "slot_logits"}

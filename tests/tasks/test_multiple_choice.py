"""The best of several texts."""

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.tasks.multiple_choice import ChoiceAnswer
from tests import tiny
from tests.conformance import randomize, to_numpy
from tests.models.samples import tensorflow_only


def test_bytes_that_are_not_utf8_are_skipped():
    choices = tf.constant([[b"a\xffb", b"c"], [b"\xff", b"d"]])
    found = ChoiceAnswer()(
        {"logits": tf.constant([[1.0, 0.0]] * 2), "choices": choices}
    )
    assert found["answer"].numpy().tolist() == [b"ab", b""]


def test_compares_a_text_with_each_choice():
    encoder = tiny.encoder(pooling=None, dropout=0.0, attention_dropout=0.0)
    options = {"pooling": "mean", "head_form": {}, "compare": True}
    model = kbl.multiple_choice(encoder, **options)
    randomize(model)
    texts = ["a fine day", "is", "bad weather", "not"]
    ids = tiny.preprocessor()([texts, texts[::-1]])
    unit = kbl.sentence_encoder(kbl.encoder_of(model), pooling="mean")
    x = to_numpy(unit(tiny.preprocessor()(texts))["sentence_embedding"])
    kernel, bias = model.get_layer("head").dense.get_weights()
    for logits, rows in zip(to_numpy(model(ids)["logits"]), (x, x[::-1]), strict=True):
        u, v = np.broadcast_to(rows[:1], (3, rows.shape[1])), rows[1:]
        expected = np.concatenate([u, v, np.abs(u - v), u * v], 1) @ kernel + bias
        np.testing.assert_allclose(logits, expected[:, 0], atol=1e-5)


def test_transformers_does_not_compare(tmp_path):
    options = {"pooling": "mean", "head_form": {}, "compare": True}
    model = kbl.multiple_choice(tiny.encoder(pooling=None), **options)
    with pytest.raises(ValueError, match="compare=True"):
        kbl.save_hugging_face(model, tiny.preprocessor(), tmp_path)


@tensorflow_only
def test_predicts_choices_of_any_bytes():
    model = kbl.with_text(kbl.multiple_choice(tiny.encoder()), tiny.preprocessor())
    choices = [[b"\xff day", b"\xff day"], ["a\0", "a\0"]]
    found = model.predict({"text": ["fine"] * 2, "text_pair": choices})
    assert found["answer"].tolist() == [" day", "a\0"]
    assert np.isfinite(found["scores"]).all()

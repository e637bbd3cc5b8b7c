"""The best of several texts."""

import numpy as np
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.models.tasks.multiple_choice import ChoiceAnswer
from tests import tiny
from tests.models.samples import tensorflow_only


def test_bytes_that_are_not_utf8_are_skipped():
    choices = tf.constant([[b"a\xffb", b"c"], [b"\xff", b"d"]])
    found = ChoiceAnswer()(
        {"logits": tf.constant([[1.0, 0.0]] * 2), "choices": choices}
    )
    assert found["answer"].numpy().tolist() == [b"ab", b""]


@tensorflow_only
def test_predicts_choices_of_any_bytes():
    model = kbl.with_text(kbl.multiple_choice(tiny.encoder()), tiny.preprocessor())
    choices = [[b"\xff day", b"\xff day"], ["a\0", "a\0"]]
    found = model.predict({"text": ["fine"] * 2, "text_pair": choices})
    assert found["answer"].tolist() == [" day", "a\0"]
    assert np.isfinite(found["scores"]).all()

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from tests import tiny
from tests.models import samples

LABELS = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("build", "shares", "predicted"),
    [
        (kbl.text_classifier, [0.5, 0.3, 0.2], tf.nn.softmax),
        (kbl.multi_label_classifier, [0.9, 0.1, 0.01], tf.sigmoid),
    ],
)
def test_a_model_starts_with_the_shares_of_its_labels(build, shares, predicted):
    plain = build(tiny.encoder(), LABELS)
    model = build(tiny.encoder(), LABELS, label_shares=np.array(shares))
    assert not plain.get_layer("head").dense.bias.numpy().any()
    kernel = model.get_layer("head").dense.kernel
    kernel.assign(tf.zeros(kernel.shape))
    found = predicted(model(samples.ids())["logits"])
    np.testing.assert_allclose(found, [shares] * len(found), rtol=1e-5)


def test_a_label_that_no_row_has_is_not_impossible():
    model = kbl.multi_label_classifier(tiny.encoder(), LABELS, label_shares=[0, 1, 0.5])
    assert np.isfinite(model.get_layer("head").dense.bias.numpy()).all()


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.5, 0.6, -0.1], [1, 20, 3], "abc"])
def test_refuses_what_are_no_shares(shares):
    with pytest.raises(ValueError, match="`label_shares` must be a number from 0 to 1"):
        kbl.text_classifier(tiny.encoder(), LABELS, label_shares=shares)

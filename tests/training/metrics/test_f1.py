"""F1 of classes, as scikit-learn's."""

import keras
import numpy as np
import pytest
from sklearn import metrics as reference

from keras_bert_lite.training.metrics import F1
from tests.training.metrics.samples import sample
from tests.training.metrics.streams import evaluated, revived, streamed


def wanted(y_true, logits, average, weight=None):
    classes = logits.shape[1]
    labels = None if average == "binary" else range(classes)
    return reference.f1_score(
        y_true,
        logits.argmax(1),
        labels=labels,
        average=average,
        sample_weight=weight,
        zero_division=0,
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("classes", "average"),
    [
        (2, "binary"),
        *((classes, x) for classes in (2, 5) for x in ("micro", "macro")),
        (5, "weighted"),
        (5, None),
    ],
)
def test_equals_scikit_learn(classes, average, weighted):
    y_true, logits, weight = sample(classes)
    weight = weight if weighted else None
    want = wanted(y_true, logits, average, weight)
    got = streamed(F1(classes, average), y_true, logits, weight)
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
def test_a_class_that_never_occurs_has_no_f1(average):
    y_true, logits, _ = sample(4)
    y_true, logits[:, 3] = y_true % 3, -100
    got = streamed(F1(4, average), y_true, logits)
    np.testing.assert_allclose(got, wanted(y_true, logits, average), rtol=1e-5)


def test_is_zero_without_hits_and_before_any_batch():
    metric = F1()
    assert metric.result() == 0
    y_true, logits, _ = sample(2)
    logits[:, 0] = 100
    assert streamed(metric, y_true, logits) == 0


@pytest.mark.parametrize("average", ["binary", "micro", "macro", "weighted"])
def test_a_target_that_is_no_class_is_seen(average):
    y_true, logits, _ = sample(2)
    y_true[3] = 2
    assert np.isnan(streamed(F1(2, average), y_true, logits))


@pytest.mark.parametrize("average", ["binary", "macro"])
def test_works_in_a_compiled_model(average):
    y_true, logits, _ = sample(2)
    got = evaluated(revived(F1(2, average)), y_true, logits)
    np.testing.assert_allclose(got, wanted(y_true, logits, average), rtol=1e-5)


def test_reports_every_class_from_fit():
    y_true, logits, _ = sample(3)
    inputs = keras.Input((3,))
    model = keras.Model(inputs, {"logits": keras.layers.Dense(3)(inputs)})
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[F1(3, None)],
    )
    history = model.fit(logits, y_true, epochs=2, verbose=0).history
    assert np.shape(history["f1"]) == (2, 3)


def test_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match=r'`average` must not be "binary".*=3'):
        F1(3)
    with pytest.raises(ValueError, match=r"`average` must be one of .* 'samples'"):
        F1(3, "samples")

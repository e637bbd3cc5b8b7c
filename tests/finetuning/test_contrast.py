import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.finetuning.contrast import Contrast, SameLabelLoss, in_turn
from keras_bert_lite.finetuning.recipe import RECIPE
from tests import tiny
from tests.conformance import to_numpy
from tests.finetuning import samples

TEXTS = RECIPE.contrast_texts


def test_each_step_has_several_rows_of_a_label():
    labels = np.array(["x", "y", "z"])[[0, 0, 0, 0, 1, 1, 1, 2] * 2]
    steps = in_turn(labels, 30, 0)
    assert steps.shape == (30, TEXTS // 3 * 3)
    for step in labels[steps]:
        assert [*step[::5]] == [*step[4::5]]
        assert {*step} == {"x", "y", "z"}
    counts = np.bincount(steps.ravel(), minlength=16)
    assert counts.sum() == steps.size
    assert counts.min() > 0
    assert np.ptp(counts[labels == "x"]) <= 1  # rows take turns
    assert (steps == in_turn(labels, 30, 0)).all()
    assert (steps != in_turn(labels, 30, 1)).any()


def test_many_labels_take_turns():
    labels = [str(i // 2) for i in range(40)]
    steps = in_turn(labels, 5, 0) // 2
    assert steps.shape == (5, TEXTS)
    assert all(len({*x}) == TEXTS // 2 for x in steps)
    assert {*steps[:3].ravel()} == {*range(20)}


def test_the_loss_compares_all_pairs():
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1]], "float32")
    loss = SameLabelLoss()(np.array([0, 0, 1]), vectors)
    same, others = (1 - 0.6) ** 2, np.mean([0.0, 0.8**2])
    np.testing.assert_allclose(to_numpy(loss), (same + others) / 2, rtol=1e-6)
    apart = SameLabelLoss()(np.array([0, 1, 2]), vectors)
    np.testing.assert_allclose(
        to_numpy(apart), np.mean([0.36, 0.0, 0.64]) / 2, rtol=1e-6
    )


@pytest.mark.slow
def test_texts_of_a_label_come_closer():
    model = kbl.text_classifier(tiny.encoder(pooling=None), ["bad", "good"])
    rows = samples.texts(12)
    texts, labels = [x["text"] for x in rows], [x["label"] for x in rows]
    preprocessor = tiny.preprocessor()

    def gap():
        encoder = kbl.sentence_encoder(kbl.encoder_of(model))
        vectors = encoder(preprocessor(texts))
        found = np.asarray(vectors["sentence_embedding"])
        cosines = found @ found.T
        same = np.equal.outer(np.array(labels), np.array(labels))
        return cosines[same].mean() - cosines[~same].mean()

    before, start = gap(), [to_numpy(x) for x in model.variables]
    contrast = Contrast(model, preprocessor, 1e-3, steps=60)
    contrast(texts, labels, 0)
    assert gap() > before + 0.3
    ends = model.get_weights()
    for variable, value in zip(model.variables, start, strict=True):
        variable.assign(value)
    contrast(texts, labels, 0)  # its optimizer starts over
    for a, b in zip(ends, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)

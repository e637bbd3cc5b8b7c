import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.finetuning.calibration import calibrate, fold
from tests import tiny
from tests.conformance import to_numpy
from tests.models import samples


@pytest.mark.parametrize("build", [kbl.text_classifier, kbl.multi_label_classifier])
def test_a_head_that_is_too_sure_is_made_less_so(build):
    keras.utils.set_random_seed(0)
    model = build(tiny.encoder(), ["a", "b"])
    ids = samples.ids()
    rng = np.random.default_rng(0)
    head = model.get_layer("head").dense
    head.kernel.assign(rng.normal(size=head.kernel.shape))
    fold(model, "logits", np.abs(to_numpy(model(ids)["logits"])).max() / 1.5)
    before = to_numpy(model(ids)["logits"])
    shares = 1 / (1 + np.exp(-before))
    several = build is kbl.multi_label_classifier
    batches = []
    for _ in range(200):  # targets as probable as the logits say
        drawn = (rng.random(shares.shape) < shares).astype("float32")
        if not several:
            odds = np.exp(before - before.max(1, keepdims=True))
            odds /= odds.sum(1, keepdims=True)
            drawn = (rng.random(len(odds)) > odds[:, 0]).astype("int32")
        batches.append((ids, drawn))
    fold(model, "logits", 0.25)  # four times as sure
    found = calibrate(model, batches)["logits"]
    assert found.temperature == pytest.approx(4, rel=0.4)
    assert found.after < found.before
    after = to_numpy(model(ids)["logits"])
    np.testing.assert_allclose(after, 4 * before / found.temperature, rtol=1e-4)


def test_few_targets_calibrate_nothing():
    model = tiny.classifier()
    ids = samples.ids()
    assert calibrate(model, [(ids, np.zeros(2, "int32"))]) == {}


def test_a_model_that_is_always_right_is_not_made_certain():
    model = kbl.text_classifier(tiny.encoder(), ["a", "b"])
    ids = samples.ids()
    right = to_numpy(model(ids)["logits"]).argmax(1)
    fold(model, "logits", 0.01)
    calibrate(model, [(ids, right)] * 50)
    shares = to_numpy(keras.ops.softmax(model(ids)["logits"]))
    assert 0.9 < shares.max(1).mean() < 0.999


def test_a_temperature_divides_all_of_a_logit():
    model = kbl.text_classifier(tiny.encoder(), ["a", "b"])
    model.get_layer("head").dense.bias.assign([3.0, -1.0])
    before = to_numpy(model(samples.ids())["logits"])
    fold(model, "logits", 2.0)
    after = to_numpy(model(samples.ids())["logits"])
    np.testing.assert_allclose(after, before / 2, rtol=1e-5)


def test_what_has_no_weight_does_not_calibrate():
    model = kbl.token_classifier(tiny.encoder(), ["a", "b"])
    ids = samples.ids()
    right = to_numpy(model(ids)["logits"]).argmax(-1)
    weights = np.zeros(right.shape, "float32")
    weights[:, :2] = 1
    wrong = np.where(weights > 0, right, 1 - right)  # where there is padding
    start = model.get_weights()
    found = []
    for targets in (right, wrong):
        model.set_weights(start)
        found.append(calibrate(model, [(ids, targets, weights)] * 20)["logits"])
    assert found[0] == found[1]

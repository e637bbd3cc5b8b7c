import numpy as np
import pytest

from keras_bert_lite.finetuning.plan import Plan
from keras_bert_lite.finetuning.trainer import Trainer
from tests import tiny
from tests.conformance import to_numpy
from tests.finetuning import samples
from tests.models import samples as model_samples
from tests.policies import dtype_policy

BAD_GOOD = {"labels": ["bad", "good"]}


def new_trainer(encoder, task="text_classification", labels=BAD_GOOD):
    spec = samples.spec(task, labels)
    return Trainer(spec, spec.build(encoder), tiny.preprocessor())


def test_a_second_fit_from_the_same_start_ends_alike(tmp_path):
    trainer = new_trainer(tiny.encoder(pooling=None, dropout=0.1))
    rows = samples.texts(16)
    plan = Plan(1, 4, 1e-3, None, 0, steps=4, evaluate_every=2)
    start = trainer.snapshot()
    ends, steps = [], []
    for folder in ("first", "second"):
        trainer.reset(start)
        trainer.fit(rows, plan, tmp_path / folder, [], 0)
        steps.append(trainer.model.train_function)
        ends.append(trainer.snapshot())
    assert steps[0] is steps[1]  # traced once
    for a, b in zip(*ends, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(start, ends[0], strict=True))


# Keras's `normalize` casts its largest number to float16.
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize(
    "policy",
    [
        "mixed_float16",
        "float64",
        pytest.param("float32", marks=pytest.mark.slow),
        pytest.param("mixed_bfloat16", marks=pytest.mark.slow),
    ],
)
def test_two_fits_under_a_policy(policy, tmp_path):
    with dtype_policy(policy):
        trainer = new_trainer(tiny.encoder(pooling=None, num_layers=1, dropout=0.0))
        rows = samples.texts(16)
        plan = Plan(1, 4, 1e-3, None, 0, steps=2, evaluate_every=2)
        start, ends = trainer.snapshot(), []
        for folder in ("first", "second"):
            trainer.reset(start)
            trainer.fit(rows, plan, tmp_path / folder, [], 0)
            ends.append(trainer.snapshot())
    assert all(np.isfinite(x.astype("float64")).all() for x in ends[0])
    assert changes(start, ends[0])
    for a, b in zip(*ends, strict=True):
        np.testing.assert_array_equal(a, b)
    scale = getattr(trainer.model.optimizer, "dynamic_scale", None)
    assert (scale is not None) == (policy == "mixed_float16")


def changes(before, after):
    pairs = zip(before, after, strict=False)
    return any((a != b).any() for a, b in pairs)


@pytest.mark.parametrize(
    ("task", "labels", "share"),
    [
        ("text_classification", {"labels": ["a", "b"]}, 1 / 3),
        ("multi_label_classification", {"labels": ["a", "b"]}, 1 / 3),
        ("regression", {}, 1),
        ("token_classification", {"labels": ["O", "B-X", "I-X"]}, 1),
    ],
)
def test_only_labels_of_texts_are_softened(task, labels, share):
    trainer = new_trainer(tiny.encoder(pooling=None), task, labels)
    model = trainer.model
    (before,) = (to_numpy(x) for x in model(model_samples.ids()).values())
    trainer.soften()
    (after,) = (to_numpy(x) for x in model(model_samples.ids()).values())
    np.testing.assert_allclose(after, share * before, rtol=1e-4, atol=1e-6)


def test_texts_that_are_compared_are_not():
    spec = samples.spec(
        "text_classification", BAD_GOOD, {"text_pair": "other"}, apart=True
    )
    model = spec.build(tiny.encoder(pooling=None))
    before = model.get_weights()
    Trainer(spec, model, tiny.preprocessor()).soften()
    for a, b in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_plan_has_another_optimizer(tmp_path):
    trainer = new_trainer(tiny.encoder(pooling=None))
    optimizers = []
    for steps in (2, 2, 4):
        trainer.compile(Plan(1, 4, 1e-3, None, 0, steps=steps))
        optimizers.append(trainer.model.optimizer)
    assert optimizers[0] is optimizers[1] is not optimizers[2]


def test_a_linear_start_weighs_rows_by_their_label():
    spec = samples.spec("text_classification", BAD_GOOD, class_weight=[3.0, 0.5])
    model = spec.build(tiny.encoder(pooling=None))
    trainer = Trainer(spec, model, tiny.preprocessor())
    given = []

    class Start:
        def __call__(self, data, validation_data):
            given.append(data)

        def again(self, data, probes):
            given.append(data)

    vars(trainer)["_warm_start"] = Start()
    rows = samples.texts(8)
    trainer.start(rows, rows)
    trainer.start_again(rows, {})
    for data in given:
        _, targets, weights = next(iter(data))
        np.testing.assert_array_equal(weights, np.array([3.0, 0.5])[targets])

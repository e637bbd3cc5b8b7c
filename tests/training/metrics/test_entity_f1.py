"""Scores of entities, with seqeval as the judge."""

import keras
import numpy as np
import pytest
from seqeval.metrics import f1_score, precision_score, recall_score

from keras_bert_lite.layers.heads.crf import CRF, CRFDecoder
from keras_bert_lite.training.losses import CRFLoss
from keras_bert_lite.training.metrics.entity_f1 import (
    EntityF1,
    EntityPrecision,
    EntityRecall,
)
from tests.conformance import assert_all_close, to_numpy

BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
BIOES = ["O", *(f"{p}-{t}" for t in ("PER", "LOC") for p in "BIES")]
SCORERS = {
    EntityF1: f1_score,
    EntityPrecision: precision_score,
    EntityRecall: recall_score,
}


def batches(labels, count=4, rows=250, width=12, seed=0):
    """Targets, logits that agree with most of them, and masks with gaps."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        tags = generator.integers(0, len(labels), (rows, width))
        other = generator.integers(0, len(labels), (rows, width))
        best = np.where(generator.random(tags.shape) < 0.7, tags, other)
        logits = np.eye(len(labels), dtype="float32")[best]
        yield tags, logits, (generator.random(tags.shape) < 0.8).astype("float32")


def sentences(tags, mask, labels):
    return [
        [labels[i] for i in row[real != 0]]
        for row, real in zip(tags, mask, strict=True)
    ]


def both(metric, labels):
    """Feeds batches to a metric; returns what seqeval needs to judge it."""
    true, predicted = [], []
    for tags, logits, mask in batches(labels):
        metric.update_state(np.where(mask != 0, tags, -100), logits, mask)
        true += sentences(tags, mask, labels)
        predicted += sentences(logits.argmax(-1), mask, labels)
    return true, predicted


@pytest.mark.parametrize("labels", [BIO, BIOES], ids=["bio", "bioes"])
@pytest.mark.parametrize("average", ["micro", "macro", None])
@pytest.mark.parametrize("kind", SCORERS, ids=lambda x: x.__name__)
def test_equals_seqeval(kind, average, labels):
    metric = kind(labels, average=average)
    expected = SCORERS[kind](*both(metric, labels), average=average)
    assert_all_close(metric.result(), expected, tolerance=1e-6)


def test_types_that_never_occur_do_not_count_in_the_mean():
    metric = EntityF1(BIO, average="macro")
    tags = np.array([[1, 2, 0]])
    metric.update_state(tags, np.eye(7)[tags])
    assert float(metric.result()) == 1.0


def test_types_that_are_predicted_and_never_true_count_in_the_mean():
    tags, predicted = np.array([[1, 2, 0, 0]]), np.array([[1, 2, 0, 3]])
    every = np.ones(tags.shape)
    names = sentences(tags, every, BIO), sentences(predicted, every, BIO)
    for kind, judge in SCORERS.items():
        metric = kind(BIO, average="macro")
        metric.update_state(tags, np.eye(7)[predicted])
        expected = judge(*names, average="macro", zero_division=0)
        assert float(metric.result()) == expected == 0.5


def test_is_zero_without_entities():
    metric = EntityF1(BIO)
    assert float(metric.result()) == 0.0
    metric.update_state(np.zeros((2, 3)), np.eye(7)[np.zeros((2, 3), int)])
    assert float(metric.result()) == 0.0


def test_weights_of_rows_leave_rows_out():
    tags = np.array([[1, 2, 0], [3, 4, 0]])
    logits = np.eye(7)[[[1, 2, 0], [1, 1, 1]]]
    metric = EntityF1(BIO)
    metric.update_state(tags, logits, np.array([1.0, 0.0]))
    assert float(metric.result()) == 1.0
    metric.reset_state()
    metric.update_state(tags, logits)
    assert float(metric.result()) == pytest.approx(2 / 6)


@pytest.mark.parametrize("wrong", [-100, 7])
def test_bad_targets_are_not_passed_over(wrong):
    metric = EntityF1(BIO)
    tags = np.array([[1, wrong]])
    metric.update_state(tags, np.eye(7)[[[1, 0]]], np.array([[1, 0]]))
    assert float(metric.result()) == 1.0
    metric.update_state(tags, np.eye(7)[[[1, 0]]])
    assert np.isnan(float(metric.result()))
    metric.reset_state()
    metric.update_state(np.array([[1, 0]]), np.full((1, 2, 7), np.nan))
    assert np.isnan(float(metric.result()))


def test_takes_the_best_path_of_a_crf():
    crf = CRF(BIO, constrained=True)
    direct, decoded = EntityF1(BIO), EntityF1(BIO)
    for tags, logits, mask in batches(BIO, count=1, rows=20):
        scores = crf(logits + np.random.default_rng(0).normal(size=logits.shape))
        path = to_numpy(CRFDecoder()(scores, mask != 0))
        direct.update_state(tags, scores, mask)
        decoded.update_state(tags, np.eye(len(BIO))[path], mask)
    assert 0 < float(direct.result()) < 1
    assert float(direct.result()) == float(decoded.result())


def test_config_round_trip():
    metric = EntityRecall(tuple(BIO), average="macro", name="r")
    config = keras.saving.serialize_keras_object(metric)
    revived = keras.saving.deserialize_keras_object(config)
    assert isinstance(revived, EntityRecall)
    assert revived.get_config() == metric.get_config()


@pytest.mark.parametrize("with_crf", [False, True])
def test_in_compile(with_crf):
    """Where the length, and so what the output is, is known only later."""
    inputs = keras.Input((None, len(BIO)))
    outputs = {
        "scores": CRF(BIO)(inputs) if with_crf else keras.layers.Identity()(inputs)
    }
    model = keras.Model(inputs, outputs)
    metrics = {"scores": [EntityF1(BIO), EntityPrecision(BIO)]}
    loss = CRFLoss() if with_crf else "sparse_categorical_crossentropy"
    model.compile(loss={"scores": loss}, weighted_metrics=metrics)
    ((tags, logits, mask),) = batches(BIO, count=1, rows=64)
    expected = EntityF1(BIO)
    expected.update_state(tags, model(logits)["scores"], mask)
    got = model.evaluate(
        logits,
        {"scores": tags},
        batch_size=32,
        sample_weight={"scores": mask},
        return_dict=True,
        verbose=0,
    )
    assert got["entity_f1"] == pytest.approx(float(expected.result()))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["NOUN", "VERB"], "Received: 'NOUN'"),
        (["O", "B-X", "X"], "Received: 'X'"),
        (["O"], "at least two names"),
    ],
)
def test_refuses_labels_without_a_scheme(labels, message):
    with pytest.raises(ValueError, match=message):
        EntityF1(labels)


def test_refuses_other_averages():
    with pytest.raises(ValueError, match="`average` must be one of"):
        EntityF1(BIO, average="weighted")

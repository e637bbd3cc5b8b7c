"""Reports, as scikit-learn's and seqeval's."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from seqeval import metrics as seqeval
from sklearn import metrics as reference

from keras_bert_lite import layers
from keras_bert_lite.evaluation import scorers
from tests.evaluation.samples import batched, logits_of, says

RANDOM = np.random.default_rng(0)
LABELS = ["bad", "fair", "fine"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def classes(*shape, size):
    true = RANDOM.integers(0, size, shape)
    return true, np.where(RANDOM.random(shape) < 0.6, true, true[::-1])


def with_head(model, labels):
    """The model with a head, which says the labels' names and nothing else."""
    head = layers.ClassificationHead(labels, name="head")(model.input)
    mark = layers.TaskOutput("text_classification", "logits", ["head"])
    logits = mark(model.output["logits"])
    return keras.Model(model.input, {"head": head, "logits": logits})


@pytest.mark.parametrize("weighted", [False, True])
def test_report_on_labels(weighted):
    true, found = classes(50, size=3)
    weight = RANDOM.uniform(0, 2, 50) if weighted else None
    columns = [logits_of(found, 3), true[:, None], weight][: 2 + weighted]
    got = scorers.classification_report(batched(*columns))(
        with_head(says(shape=(3,)), LABELS)
    )
    options = {"sample_weight": weight}
    assert got["accuracy"] == pytest.approx(
        reference.accuracy_score(true, found, **options)
    )
    precision, recall, f1, _ = reference.precision_recall_fscore_support(
        true, found, **options
    )
    for i, label in enumerate(LABELS):
        assert got[f"precision/{label}"] == pytest.approx(precision[i])
        assert got[f"recall/{label}"] == pytest.approx(recall[i])
        assert got[f"f1/{label}"] == pytest.approx(f1[i])
    assert got["macro_f1"] == pytest.approx(f1.mean())
    weighted_f1 = reference.f1_score(true, found, average="weighted", **options)
    assert got["weighted_f1"] == pytest.approx(weighted_f1)
    assert list(got)[:2] == ["accuracy", "macro_precision"]


def test_reads_a_tensorflow_dataset_at_every_call():
    true, found = classes(50, size=3)
    data = tf.data.Dataset.from_tensor_slices((logits_of(found, 3), true)).batch(7)
    score = scorers.classification_report(data, LABELS)
    model = says(shape=(3,))
    assert score(model)["accuracy"] == pytest.approx(np.mean(true == found))
    assert score(model) == score(model)


def test_a_label_that_never_occurs_is_reported():
    true = np.array([0, 1, 1])
    data = batched(logits_of(true, 3), true)
    got = scorers.classification_report(data, LABELS)(says(shape=(3,)))
    assert (got["f1/fine"], got["macro_f1"]) == (0, pytest.approx(2 / 3))


@pytest.mark.parametrize("masked", [False, True])
def test_report_on_entities(masked):
    true, found = classes(40, 9, size=5)
    weight = RANDOM.integers(0, 2, (40, 9)) if masked else np.ones((40, 9))
    columns = [logits_of(found, 5), np.where(weight == 0, -100, true), weight]
    data = batched(*columns[: 2 + masked])
    got = scorers.entity_report(data)(with_head(says(shape=(None, 5)), TAGS))
    texts = [
        [[TAGS[i] for i in row[kept]] for row, kept in zip(x, weight > 0, strict=True)]
        for x in (true, found)
    ]
    assert got["precision"] == pytest.approx(seqeval.precision_score(*texts))
    assert got["recall"] == pytest.approx(seqeval.recall_score(*texts))
    assert got["f1"] == pytest.approx(seqeval.f1_score(*texts))
    each = seqeval.f1_score(*texts, average=None)
    assert [got["f1/LOC"], got["f1/PER"]] == pytest.approx(each.tolist())
    assert got["macro_f1"] == pytest.approx(each.mean())


def test_rows_may_have_weights_too():
    true, found = classes(20, 9, size=5)
    weight = RANDOM.integers(0, 2, 20)
    got = scorers.entity_report(batched(logits_of(found, 5), true, weight), TAGS)
    kept = batched(logits_of(found, 5)[weight > 0], true[weight > 0])
    want = scorers.entity_report(kept, TAGS)
    assert got(says(shape=(None, 5))) == want(says(shape=(None, 5)))


def test_the_best_path_of_a_crf_counts():
    """Logits prefer I-PER after O; the transition to B-PER wins."""
    logits = np.zeros((2, 3, 5), "float32")
    logits[:, :, 0], logits[:, 1, 0] = 1, 0
    logits[:, 1, 2], logits[:, 1, 1] = 2, 1.5
    transitions = np.zeros((2, 5, 5))
    transitions[:, 0, 2] = -9
    scores = np.concatenate([logits, transitions, np.zeros((2, 2, 5))], axis=1)
    data = [(scores.astype("float32"), np.array([[0, 1, 0]] * 2))]
    got = scorers.entity_report(data, TAGS)(says("crf_scores", (None, 5)))
    assert got["f1"] == 1


def test_no_entities_at_all():
    data = [(logits_of(np.zeros((2, 3), int), 5), np.zeros((2, 3), int))]
    got = scorers.entity_report(data, TAGS)(says(shape=(None, 5)))
    assert set(got.values()) == {0}
    assert {"f1", "macro_f1", "weighted_recall"} < set(got)


@pytest.mark.parametrize("report", ["classification_report", "entity_report"])
def test_refuses_targets_and_models_without_a_label(report):
    make = getattr(scorers, report)
    shape = (4,) if report == "classification_report" else (4, 3)
    model = says(shape=(*shape[1:], 3))
    data = [(logits_of(np.zeros(shape, int), 3), np.full(shape, 3))]
    with pytest.raises(ValueError, match=r"`data` must have indices of the 3.* 3$"):
        make(data, LABELS)(model)
    with pytest.raises(ValueError, match="`labels` must be given"):
        make(data)(model)

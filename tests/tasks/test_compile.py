"""The losses, metrics and data sets of the tasks."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.tasks.compile import data_set_of
from keras_bert_lite.tasks.registry import TASKS, task_of
from tests import tiny
from tests.conformance import EAGERLY
from tests.models.samples import ids

LABELS = ["O", "B-PER", "I-PER"]
INPUTS = ids(lengths=(5, 3, 4, 2), width=5)
BUILDERS = {
    "text_classification": lambda x: kbl.text_classifier(x, LABELS),
    "multi_label_classification": lambda x: kbl.multi_label_classifier(x, LABELS),
    "regression": kbl.regressor,
    "token_classification": lambda x: kbl.token_classifier(x, LABELS),
    "crf_token_classification": lambda x: kbl.token_classifier(x, LABELS, crf=True),
    "question_answering": kbl.question_answerer,
}
ROWS = np.array([0, 1, 2, 1])
TAGS = np.array([[0, 1, 2, 0, 0]] * 4)
WEIGHTS = INPUTS["padding_mask"].astype("float32")
TARGETS = {
    "text_classification": (ROWS,),
    "multi_label_classification": (np.eye(3, dtype="float32")[ROWS],),
    "regression": (ROWS[:, None].astype("float32"),),
    "token_classification": (TAGS, WEIGHTS),
    "crf_token_classification": (TAGS, WEIGHTS),
    "question_answering": ({"start_logits": ROWS % 2, "end_logits": ROWS % 2},),
}
METRICS = {
    "text_classification": "accuracy",
    "multi_label_classification": "multi_label_f1",
    "regression": "pearson_correlation",
    "token_classification": "entity_f1",
    "crf_token_classification": "entity_f1",
    "question_answering": "accuracy",
}


def test_every_task_is_in_transformers_or_says_why_not():
    for task in TASKS.values():
        assert (task.hugging_face is None) == (task.not_saved is not None)


@pytest.mark.parametrize("task", BUILDERS)
def test_trains_with_the_tasks_loss_metrics_and_optimizer(task):
    model = BUILDERS[task](tiny.encoder())
    kbl.compile(model, steps=10, learning_rate=1e-3, run_eagerly=EAGERLY)
    assert model.optimizer.get_config()["learning_rate"]["config"]["warmup_steps"] == 1
    logs = model.train_on_batch(INPUTS, *TARGETS[task], return_dict=True)
    assert np.isfinite(logs["loss"])
    assert any(METRICS[task] in key for key in logs)


@pytest.mark.tensorflow(reason="traces steps")
def test_the_first_step_is_traced_once():
    model, traced = tiny.classifier(), []
    kbl.compile(model, steps=2)
    step = model.train_step

    def counted(*given):
        traced.append(given)
        return step(*given)

    model.train_step = counted
    model.fit(tiny.preprocessor()(tiny.TEXTS), np.zeros(4, "int32"), verbose=0)
    assert len(traced) == 1


def test_the_loss_of_answers_is_the_mean_of_both():
    model = kbl.question_answerer(tiny.encoder(dropout=0.0, attention_dropout=0.0))
    kbl.compile(model, "sgd", run_eagerly=EAGERLY)
    (targets,) = TARGETS["question_answering"]
    logs = model.test_on_batch(INPUTS, targets, return_dict=True)
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    values = model(INPUTS)
    expected = [float(cross_entropy(y, values[name])) for name, y in targets.items()]
    assert logs["loss"] == pytest.approx(np.mean(expected), rel=1e-5)


def test_labels_without_a_scheme_are_counted_by_words():
    model = kbl.token_classifier(tiny.encoder(), ["NOUN", "VERB"])
    kbl.compile(model, run_eagerly=EAGERLY)
    logs = model.train_on_batch(INPUTS, TAGS % 2, WEIGHTS, return_dict=True)
    assert set(logs) == {"loss", "accuracy"}


def test_words_are_counted_on_the_scores_of_a_crf():
    model = kbl.token_classifier(tiny.encoder(), ["NOUN", "VERB"], crf=True)
    kbl.compile(model, "sgd", run_eagerly=EAGERLY)
    logs = model.train_on_batch(INPUTS, TAGS % 2, WEIGHTS, return_dict=True)
    assert 0 <= logs["accuracy"] <= 1


@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        ("crf_token_classification", {"metrics": ["accuracy"]}),
        (
            "crf_token_classification",
            {"weighted_metrics": {"crf_scores": keras.metrics.CategoricalAccuracy()}},
        ),
        ("token_classification", {"weighted_metrics": ["accuracy"]}),
    ],
)
def test_refuses_metrics_that_cannot_count_words(task, arguments):
    model = BUILDERS[task](tiny.encoder())
    with pytest.raises(ValueError, match=r"`metrics.WordAccuracy\(\)` .* Received: "):
        kbl.compile(model, **arguments)
    assert not model.compiled


@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        ("crf_token_classification", {"metrics": [kbl.metrics.EntityF1(LABELS)]}),
        ("token_classification", {"metrics": [keras.metrics.CategoricalAccuracy()]}),
        ("text_classification", {"metrics": ["accuracy"]}),
        ("question_answering", {"metrics": [["accuracy"], ["accuracy"]]}),
    ],
)
def test_takes_other_metrics(task, arguments):
    model = BUILDERS[task](tiny.encoder())
    kbl.compile(model, weighted_metrics=[], **arguments)
    assert model.compiled


@pytest.mark.tensorflow(reason="lengths are static elsewhere")
@pytest.mark.parametrize(
    ("crf", "loss", "message"),
    [
        (
            False,
            kbl.losses.CRFLoss(),
            r"`CRFLoss` needs .*\(crf=True\)",
        ),
        (
            True,
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            r"same shape .* 5\), output.shape=.* 10, 3\)",
        ),
    ],
)
def test_keras_compile_finds_a_wrong_loss_of_a_crf_before_training(crf, loss, message):
    model = kbl.token_classifier(tiny.encoder(), LABELS, crf=crf)
    model.compile("sgd", loss)
    with pytest.raises(ValueError, match=message):
        model.fit(INPUTS, TAGS, verbose=0)


@pytest.mark.parametrize(
    ("task", "loss"),
    [
        ("text_classification", "sparse_categorical_crossentropy"),
        ("text_classification", keras.losses.SparseCategoricalCrossentropy()),
        ("text_classification", keras.losses.sparse_categorical_crossentropy),
        ("text_classification", keras.losses.BinaryCrossentropy(from_logits=True)),
        ("text_classification", "kl_divergence"),
        ("multi_label_classification", "binary_crossentropy"),
        (
            "multi_label_classification",
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        ),
        ("regression", keras.losses.BinaryCrossentropy(from_logits=True)),
        (
            "crf_token_classification",
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        ),
        ("token_classification", kbl.losses.CRFLoss()),
    ],
)
def test_refuses_losses_that_do_not_fit_the_head(task, loss):
    model = BUILDERS[task](tiny.encoder())
    with pytest.raises(ValueError, match=r"`loss` for .* must .* Received: "):
        kbl.compile(model, loss=loss)
    assert not model.compiled


class Own(keras.losses.Loss):
    """A loss of a user's, which takes no name."""

    def __init__(self) -> None:
        super().__init__()

    def call(self, y_true, y_pred):
        return keras.ops.sum(y_pred, axis=-1)


@pytest.mark.parametrize(
    ("task", "loss"),
    [
        (
            "text_classification",
            keras.losses.SparseCategoricalCrossentropy(from_logits=True, name="mine"),
        ),
        ("text_classification", Own()),
        ("text_classification", lambda y, x: keras.ops.sum(x, axis=-1)),
        ("regression", "mae"),
        ("regression", keras.losses.Huber()),
    ],
)
def test_takes_other_losses_that_fit(task, loss):
    model = BUILDERS[task](tiny.encoder())
    kbl.compile(model, "sgd", loss=loss, run_eagerly=EAGERLY)
    model.train_on_batch(INPUTS, *TARGETS[task])


def test_sentence_vectors_need_a_loss():
    model = kbl.sentence_encoder_trainer(kbl.sentence_encoder(tiny.encoder()))
    with pytest.raises(ValueError, match="`loss` must be given, as 'sentence_emb"):
        kbl.compile(model)
    kbl.compile(model, loss=kbl.losses.CosineSimilarityLoss())
    assert model.compiled


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"optimizer": "sgd", "steps": 3}, "`steps` and `learning_rate` must be None"),
        ({"loss": {"other": "mse"}}, r"`loss` must be of the outputs \['logits'\]"),
        ({"loss_weights": {"other": 1.0}}, "`loss_weights` must be of the outputs"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        kbl.compile(BUILDERS["text_classification"](tiny.encoder()), **arguments)


def test_one_loss_is_not_for_several_outputs():
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model = kbl.question_answerer(tiny.encoder())
    with pytest.raises(ValueError, match="`loss` must be a dictionary by output"):
        kbl.compile(model, loss=loss)
    with pytest.raises(ValueError, match="`loss_weights` must be a dictionary by out"):
        kbl.compile(model, loss_weights=[0.5, 0.5])


def test_refuses_models_of_no_task():
    with pytest.raises(ValueError, match="must be made by a task's builder"):
        kbl.compile(tiny.encoder())


def test_data_sets():
    assert data_set_of(BUILDERS["regression"](tiny.encoder())) is kbl.text_dataset
    model = BUILDERS["crf_token_classification"](tiny.encoder())
    assert data_set_of(model) is kbl.token_dataset
    assert data_set_of(kbl.masked_lm(tiny.encoder())) is None


def test_distillation_trains_by_the_students_task():
    student, teacher = (BUILDERS["text_classification"](tiny.encoder()) for _ in "ab")
    model = kbl.distillation.distillation_model(student, teacher)
    assert task_of(model) is TASKS["text_classification"]
    kbl.compile(model, steps=10, run_eagerly=EAGERLY)
    assert "accuracy" in model.train_on_batch(INPUTS, ROWS, return_dict=True)

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.presets import MODERNBERT_FAMILY
from tests import tiny
from tests.conformance import assert_all_close, randomize, to_numpy
from tests.models import samples

POSITIONS = np.array([[1, 3, 0], [2, 4, 0]], "int32")
PLAIN = {"dropout": 0.0, "attention_dropout": 0.0}
POOLED = {"pooling": "cls_dense"}


def masked(encoder):
    return kbl.pretraining.masked_positions_model(kbl.masked_lm(encoder))


def classifier(encoder):
    return kbl.text_classifier(encoder, ["a", "b", "c"], dropout=0.0)


def pair(build, internals=False, **changes):
    """A student of one block and a teacher of two."""
    models = []
    for layers, more in ((1, changes), (2, {})):
        fields = {**PLAIN, **more, "num_layers": layers}
        encoder = kbl.encoder(tiny.config(**fields))
        models.append(build(kbl.with_hidden_states(encoder) if internals else encoder))
        randomize(models[-1])
    return models


def inputs(build):
    more = {"masked_positions": POSITIONS} if build is masked else {}
    return {**samples.ids(), **more}


def added(model, given):
    """The losses that a call adds."""
    model(given, training=True)
    return float(sum(to_numpy(x) for x in model.losses))


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


@pytest.mark.parametrize("build", [masked, classifier])
def test_soft_targets(build):
    student, teacher = pair(build)
    layer = kbl.layers.LogitDistillation(temperature=3.0, weight=2.0)
    model = kbl.distillation.distillation_model(student, teacher, [layer])
    given = inputs(build)
    (name,) = student.output
    ours, theirs = (to_numpy(x(given)[name]) / 3 for x in (student, teacher))
    assert_all_close(model(given)[name], 3 * ours)
    p, q = softmax(theirs), softmax(ours)
    values = 9 * (p * np.log(p / q)).sum(-1)
    weights = POSITIONS > 0 if build is masked else np.ones(len(values))
    want = 2 * (values * weights).sum() / weights.sum()
    assert added(model, given) == pytest.approx(want, rel=1e-4)


def test_equals_keras_on_what_both_do():
    student, teacher = pair(classifier)
    theirs = keras.distillation.Distiller(
        teacher,
        student,
        keras.distillation.LogitsDistillation(
            2.0, {"logits": keras.losses.KLDivergence()}
        ),
        student_loss_weight=0.0,
    )
    theirs.compile("sgd", loss={"logits": "mse"})
    given = inputs(classifier)
    want = theirs.compute_loss(given, None, student(given))
    layer = kbl.layers.LogitDistillation(temperature=2.0, weight=1.0)
    model = kbl.distillation.distillation_model(student, teacher, [layer])
    assert added(model, given) == pytest.approx(float(want), rel=1e-3)


@pytest.mark.parametrize(
    "build",
    [
        kbl.regressor,
        lambda encoder: kbl.multi_label_classifier(encoder, ["a", "b"]),
        kbl.pretraining.replaced_token_detector,
        kbl.pretraining.electra_pretrainer,
    ],
)
def test_refuses_soft_targets_of_what_no_softmax_reads(build):
    student, teacher = pair(build)
    with pytest.raises(ValueError, match=r"`student` .* softmax .*task"):
        kbl.distillation.distillation_model(student, teacher)


def test_refuses_other_labels():
    student, _ = pair(classifier)
    _, teacher = pair(lambda encoder: kbl.text_classifier(encoder, ["b", "a", "c"]))
    with pytest.raises(ValueError, match=r"the student's labels, .*Received: .*'b'"):
        kbl.distillation.distillation_model(student, teacher)


@pytest.mark.parametrize("loss", ["cosine", "mse"])
@pytest.mark.parametrize("width", [16, 8])
def test_hidden_states(loss, width):
    student, teacher = pair(masked, True, hidden_dim=width)
    pairs = [(0, 0), (-1, -1)]
    layer = kbl.layers.HiddenStateDistillation(pairs, loss, weight=3.0)
    model = kbl.distillation.distillation_model(student, teacher, [layer])
    given = inputs(masked)
    states = [
        [to_numpy(state) for state in kbl.encoder_of(x)(samples.ids())["hidden_states"]]
        for x in (student, teacher)
    ]
    if width == 8:
        states[0] = [to_numpy(layer.projection(x)) for x in states[0]]
    real = given["padding_mask"]
    want = 0.0
    for i, j in pairs:
        a, b = states[0][i][real], states[1][j][real]
        if loss == "mse":
            want += np.square(a - b).mean()
        else:
            lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
            want += (1 - (a * b).sum(-1) / lengths).mean()
    assert added(model, given) == pytest.approx(3 * want, rel=1e-4)


@pytest.mark.parametrize("changes", [{}, MODERNBERT_FAMILY], ids=["bert", "modern"])
def test_attentions(changes):
    student, teacher = pair(classifier, True, **{**changes, **POOLED})
    layer = kbl.layers.AttentionDistillation([(0, 1)], weight=2.0)
    model = kbl.distillation.distillation_model(student, teacher, [layer])
    given = inputs(classifier)
    q, p = (
        to_numpy(kbl.encoder_of(x)(given)["attentions"][i])
        for x, i in ((student, 0), (teacher, 1))
    )
    values = np.where(p > 0, p * np.log((p + 1e-9) / (q + 1e-9)), 0).sum(-1).mean(1)
    want = 2 * values[given["padding_mask"]].mean()
    assert added(model, given) == pytest.approx(want, rel=1e-3)


def test_the_teacher_has_no_dropout():
    student, _ = pair(classifier)
    rates = {"dropout": 0.5, "attention_dropout": 0.5}
    teacher = classifier(kbl.encoder(tiny.config(**rates)))
    model = kbl.distillation.distillation_model(student, teacher)
    given = inputs(classifier)
    assert added(model, given) == pytest.approx(added(model, given))


def test_only_the_student_learns(tmp_path):
    student, teacher = pair(masked, True)
    comparisons = [kbl.layers.LogitDistillation(), kbl.layers.HiddenStateDistillation()]
    model = kbl.distillation.distillation_model(student, teacher, comparisons)
    kbl.compile(
        model, keras.optimizers.Adam(0.01), loss_weights={"prediction_logits": 2.0}
    )
    before = [to_numpy(x) for x in teacher.weights]
    given = inputs(masked)
    targets = {"prediction_logits": POSITIONS}
    weights = {"prediction_logits": (POSITIONS > 0).astype("float32")}
    history = model.fit(
        given, targets, sample_weight=weights, epochs=30, batch_size=2, verbose=0
    )
    losses = history.history["loss"]
    assert losses[-1] < losses[0]
    for variable, value in zip(teacher.weights, before, strict=True):
        np.testing.assert_array_equal(to_numpy(variable), value)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    name = "prediction_logits"
    assert_all_close(loaded(given)[name], to_numpy(student(given)[name]))
    assert added(loaded, given) == pytest.approx(added(model, given), rel=1e-4)


def test_refuses():
    student, teacher = pair(masked)
    with pytest.raises(ValueError, match="`teacher` must have the student's inputs"):
        kbl.distillation.distillation_model(student, pair(classifier)[1])
    with pytest.raises(ValueError, match="must be built on `with_hidden_states"):
        kbl.distillation.distillation_model(
            student, teacher, [kbl.layers.HiddenStateDistillation()]
        )
    for wrong in ([], [(0,)], [(0, "1")]):
        with pytest.raises(ValueError, match="`pairs` must be pairs of indices"):
            kbl.layers.HiddenStateDistillation(wrong)
    student, teacher = pair(masked, True)
    layer = kbl.layers.HiddenStateDistillation([(2, 2)])
    with pytest.raises(ValueError, match="must be indices of the 2 layers"):
        kbl.distillation.distillation_model(student, teacher, [layer])
    other = pair(classifier, True, num_heads=4)[0]
    with pytest.raises(ValueError, match="must have the same number of"):
        kbl.distillation.distillation_model(
            other, pair(classifier, True)[1], [kbl.layers.AttentionDistillation()]
        )
    with pytest.raises(ValueError, match="must share an output of logits"):
        kbl.distillation.distillation_model(
            pair(classifier)[0], kbl.question_answerer(kbl.encoder(tiny.config()))
        )


@pytest.mark.parametrize("value", [0, -1, "a", float("inf")])
def test_losses_refuse_other_weights(value):
    with pytest.raises(ValueError, match="`weight` must be a positive number"):
        kbl.layers.AttentionDistillation(weight=value)
    with pytest.raises(ValueError, match="`temperature` must be a positive number"):
        kbl.layers.LogitDistillation(temperature=value)

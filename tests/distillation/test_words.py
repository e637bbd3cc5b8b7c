import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.distillation.words import (
    set_components,
    share_segments,
    word_distillation_model,
)
from keras_bert_lite.presets import MODERNBERT_FAMILY
from tests import tiny
from tests.conformance import randomize, to_numpy
from tests.models import samples

STARTS = np.array([[0, 1, 3], [0, 2, 0]], "int32")
TEACHER_STARTS = np.array([[0, 2, 1], [0, 1, 0]], "int32")
WORDS = np.array([[True, True, True], [True, True, False]])


def pair(width=16, **changes):
    """A student of one block and a teacher of two."""
    plain = {"dropout": 0.0, "attention_dropout": 0.0, "pooling": None}
    student = kbl.encoder(tiny.config(num_layers=1, **{**plain, **changes}))
    teacher = kbl.encoder(tiny.config(hidden_dim=width, **plain))
    for encoder in (student, teacher):
        randomize(encoder)
    return student, teacher


def inputs():
    ids = samples.ids()
    other = {f"teacher_{key}": value[::-1] for key, value in ids.items()}
    words = {"word_positions": STARTS, "teacher_word_positions": TEACHER_STARTS}
    return {**ids, **other, **words, "word_mask": WORDS}


def inputs_of_pairs():
    prefixes = ("pair_", "teacher_second_")
    more = {
        f"{x}{key}": value for x in prefixes for key, value in samples.ids().items()
    }
    return {**inputs(), **more}


def at(states, starts):
    return np.take_along_axis(states, starts[..., None], axis=1)


def distance(a, b):
    a, b = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (a, b))
    return 1 - (a * b).sum(-1)


def mean(states, mask):
    return (states * mask[..., None]).sum(1) / mask.sum(1)[:, None]


@pytest.mark.parametrize("changes", [{}, MODERNBERT_FAMILY], ids=["bert", "modern"])
def test_loss_is_the_distance_of_words_and_texts(changes):
    student, teacher = pair(**changes)
    given = inputs()
    model = word_distillation_model(student, teacher)
    words = to_numpy(model(given, training=True))
    ids = {key: given[key] for key in samples.ids()}
    ours = to_numpy(student(ids)["sequence_output"])
    ids = {key: given[f"teacher_{key}"] for key in ids}
    theirs = to_numpy(teacher(ids)["sequence_output"])
    np.testing.assert_allclose(words, at(ours, STARTS), atol=1e-5)
    of_words = distance(at(ours, STARTS), at(theirs, TEACHER_STARTS))[WORDS].mean()
    masks = given["padding_mask"], given["teacher_padding_mask"]
    of_texts = distance(mean(ours, masks[0]), mean(theirs, masks[1])).mean()
    added = sorted(float(to_numpy(x)) for x in model.losses)
    np.testing.assert_allclose(added, sorted([of_words, of_texts]), atol=1e-5)


def test_pairs_are_to_be_as_alike_as_the_teacher_finds_them():
    student, teacher = pair()
    ids, given = samples.ids(), inputs_of_pairs()
    model = word_distillation_model(student, teacher, pairs=True)
    randomize(model.get_layer("match_pairs"))
    before = word_distillation_model(student, teacher)
    (losses, others) = (
        [float(to_numpy(x)) for x in losses]
        for losses in (_losses(model, given), _losses(before, inputs()))
    )
    kernel, bias = model.get_layer("match_pairs").get_weights()
    row = mean(to_numpy(student(ids)["sequence_output"]), ids["padding_mask"])
    first = {key: given[f"teacher_{key}"] for key in ids}
    texts = (
        mean(to_numpy(teacher(x)["sequence_output"]), x["padding_mask"])
        for x in (first, ids)
    )
    error = (row @ kernel + bias)[:, 0] - (1 - distance(*texts))
    expected = sum(others) + 10 * np.mean(error**2)
    np.testing.assert_allclose(sum(losses), expected, rtol=1e-4)


def test_layers_match_by_words_too():
    student, teacher = pair(width=32)
    given = inputs()
    model = word_distillation_model(student, teacher, layer_pairs=[(0, 1)])
    layer = model.get_layer("match_layers_0_1")
    randomize(layer)
    losses = [float(to_numpy(x)) for x in _losses(model, given)]
    ids = {key: given[key] for key in samples.ids()}
    ours = kbl.with_hidden_states(student)(ids)["hidden_states"][0]
    ids = {key: given[f"teacher_{key}"] for key in ids}
    theirs = kbl.with_hidden_states(teacher)(ids)["hidden_states"][1]
    kernel, bias = layer.get_weights()
    words = at(to_numpy(ours), STARTS) @ kernel + bias
    expected = distance(words, at(to_numpy(theirs), TEACHER_STARTS))[WORDS].mean()
    assert len(losses) == 3
    assert min(abs(x - expected) for x in losses) < 1e-5


def test_saved_as_keras_saves(tmp_path):
    model = word_distillation_model(*pair(width=32), pairs=True)
    given = inputs_of_pairs()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    sums = [sum(float(to_numpy(x)) for x in _losses(m, given)) for m in (model, loaded)]
    assert sums[0] == pytest.approx(sums[1], rel=1e-5)


@pytest.mark.slow
def test_learns_how_alike_pairs_are():
    model = word_distillation_model(*pair(), pairs=True)
    given = inputs_of_pairs()
    model.compile(keras.optimizers.Adam(0.01))
    before = _losses(model, given)
    before = max(float(to_numpy(x)) for x in before)  # that of pairs, times 10
    model.fit(given, epochs=40, batch_size=2, verbose=0)
    assert max(float(to_numpy(x)) for x in _losses(model, given)) < 0.3 * before


def _losses(model, given):
    model(given, training=True)
    return model.losses


@pytest.mark.parametrize("segments", [0, 1])
def test_pairs_without_segments(segments):
    student, teacher = pair()
    student = kbl.encoder(tiny.config(num_segments=segments, pooling=None))
    with pytest.raises(ValueError, match="`pairs=True` needs a `student`"):
        word_distillation_model(student, teacher, pairs=True)


def test_the_teacher_has_no_dropout():
    student, _ = pair()
    teacher = kbl.encoder(tiny.config(dropout=0.5, attention_dropout=0.5, pooling=None))
    model = word_distillation_model(student, teacher)
    given = inputs()
    losses = []
    for training in (True, True, False):
        model(given, training=training)
        losses.append([float(to_numpy(x)) for x in model.losses])
    assert losses[0] == pytest.approx(losses[1])
    assert losses[0] == pytest.approx(losses[2])


def test_only_the_student_is_trained():
    student, teacher = pair(width=32)
    model = word_distillation_model(student, teacher)
    trained = {id(x) for x in model.trainable_variables}
    assert trained == {id(x) for x in student.trainable_variables}


def test_components_keep_the_angles():
    student, teacher = pair(width=32)
    for variable in teacher.variables:  # its states span 16 of 32 dimensions
        if variable.path.endswith(("output_norm/gamma", "output_norm/beta")):
            value = to_numpy(variable).copy()
            value[::2] = 0
            variable.assign(value)
    model = word_distillation_model(student, teacher)
    given = inputs()
    set_components(model, [given])
    layer = model.get_layer("teacher_components")
    before, after = (
        keras.Model(model.input, x).predict_on_batch(given)
        for x in (layer.input, layer.output)
    )
    real = given["teacher_padding_mask"]
    before, after = before[real], after[real]
    np.testing.assert_allclose(after @ after.T, before @ before.T, atol=1e-3)


def test_components_lie_where_the_students_words_do():
    model = word_distillation_model(*pair(width=32))
    given = inputs()
    set_components(model, [given])
    layer = model.get_layer("teacher_components")
    read = keras.Model(model.input, [layer.input, model.output])
    states, ours = read.predict_on_batch(given)
    theirs, ours = at(states, TEACHER_STARTS)[WORDS], ours[WORDS]
    theirs, ours = (
        x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (theirs, ours)
    )
    (kernel,) = layer.get_weights()
    found = np.sum((theirs @ kernel) * ours)
    rng = np.random.default_rng(0)
    for _ in range(20):
        turn = np.linalg.qr(rng.normal(size=(16, 16)))[0]
        assert np.sum((theirs @ kernel @ turn) * ours) < found


def test_no_components_where_widths_are_the_same():
    model = word_distillation_model(*pair())
    before = [to_numpy(x) for x in model.weights]
    set_components(model, [inputs()])
    for a, b in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(a, to_numpy(b))


def test_narrower_teacher():
    with pytest.raises(ValueError, match="hidden_dim=8 and 16"):
        word_distillation_model(*pair(width=8))


def test_segments_that_were_not_trained():
    student, _ = pair()
    share_segments(student)
    ids = samples.ids()
    given = [
        {**ids, "segment_ids": x} for x in (ids["segment_ids"], ids["segment_ids"] * 0)
    ]
    assert ids["segment_ids"].any()
    a, b = (to_numpy(student(x)["sequence_output"]) for x in given)
    np.testing.assert_array_equal(a, b)

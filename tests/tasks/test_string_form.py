"""Every task's string-in form: strings in, answers out, saved and loaded."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from tests import fresh_process, tiny
from tests.tasks.string_models import (
    CHOICES,
    PAIRS,
    SPANS,
    TASKS,
    TEXTS,
    make,
    model_of,
    predicted,
)

pytestmark = pytest.mark.tensorflow(reason="string-in models need TensorFlow")


def part(inputs, *rows):
    if isinstance(inputs, dict):
        return {name: part(x, *rows) for name, x in inputs.items()}
    return inputs[slice(*rows)]


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, want in expected.items():
        got = found[name]
        assert got.shape == want.shape, name
        if want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, atol=1e-4, err_msg=name)
        else:
            assert got.tolist() == want.tolist(), name


@pytest.mark.parametrize("task", TASKS)
def test_answers_by_name(task):
    answer = predicted(task)
    assert set(answer) == set(TASKS[task][1])
    assert all(len(x) == len(TEXTS) for x in answer.values())
    kinds = {x.dtype.kind for x in answer.values()}
    assert kinds <= {"U", "i", "f"}
    assert all(np.isfinite(x).all() for x in answer.values() if x.dtype.kind == "f")


@pytest.mark.parametrize("task", TASKS)
def test_batches_of_different_length_are_joined(task):
    inputs = TASKS[task][0]
    found = model_of(task).predict(inputs, batch_size=2, verbose=0)
    assert_same(found, predicted(task))


@pytest.mark.parametrize("task", ["questions", "words", "choices", "tokens", "masks"])
def test_data_sets(task):
    inputs = TASKS[task][0]
    if task == "words":
        inputs = tf.ragged.constant(inputs).to_tensor("")
    dataset = tf.data.Dataset.from_tensor_slices(inputs).batch(2)
    assert_same(model_of(task).predict(dataset, verbose=0), predicted(task))


@pytest.mark.parametrize("task", TASKS)
def test_no_rows(task):
    inputs = TASKS[task][0]
    empty = {name: [] for name in inputs} if isinstance(inputs, dict) else []
    answer = model_of(task).predict(empty, verbose=0)
    assert set(answer) == set(TASKS[task][1])
    for name, value in answer.items():
        assert value.shape[0] == 0
        assert value.ndim == predicted(task)[name].ndim


@pytest.mark.parametrize("task", TASKS)
def test_clone(task):
    model = model_of(task)
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    inputs = part(TASKS[task][0], 2)
    found, expected = (
        {k: np.array(v) for k, v in m(inputs).items()} for m in (clone, model)
    )
    assert_same(found, expected)


@pytest.mark.parametrize("task", ["words", "choices", "masks", "questions"])
def test_files_in_a_fresh_process(task, tmp_path):
    path = tmp_path / "model.keras"
    model_of(task).save(path)
    eagerly = task != "questions"  # one is traced
    found = fresh_process.predict_saved(path, TASKS[task][0], eagerly)
    assert_same(found, predicted(task))


def test_answers_of_questions_are_read_off_the_context():
    answer = predicted("questions")
    assert answer["answers"].shape == (5, 3)
    rows = zip(PAIRS["text_pair"], *(answer[x] for x in SPANS[:3]), strict=True)
    for context, text, start, end in rows:
        assert text == (context[start:end] if start >= 0 else "")
    assert (answer["start"] >= 0).tolist() == [bool(x) for x in PAIRS["text_pair"]]


def test_choices_are_scored_as_pairs():
    model, strings = make("choices")
    preprocessor = tiny.preprocessor(12)
    first, second = (
        np.array(
            model({k: x[:, None] for k, x in preprocessor(pair).items()})["logits"]
        )
        for pair in (
            (TEXTS, [row[i] for row in CHOICES["text_pair"]]) for i in range(2)
        )
    )
    scores = np.array(strings(CHOICES)["scores"])
    expected = keras.ops.softmax(np.concatenate([first, second], axis=1))
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_regressions_return_the_logits():
    model, strings = make("regressor_of_two")
    expected = np.array(model(tiny.preprocessor(12)(TEXTS))["logits"])
    found = strings(TEXTS)["scores"]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("task", ["questions", "choices"])
def test_offline_answers(task):
    if task == "choices":
        rows = [("a", ["b", "c"]), ("d", ["e", "f"])]
        found = list(kbl.predict_texts(model_of(task), rows, 1, progress=False))
        texts, choices = map(list, zip(*rows, strict=True))
        expected = model_of(task).predict((texts, choices), verbose=0)
        assert [x["answer"] for x in found] == expected["answer"].tolist()
        return
    pairs = list(zip(*PAIRS.values(), strict=True))
    answers = list(kbl.predict_texts(model_of(task), pairs, 2, progress=False))
    expected = predicted(task)
    for name in ("answer", "start", "end", "answers"):
        found = [np.array(row[name]).tolist() for row in answers]
        assert found == expected[name].tolist()


@pytest.mark.parametrize(
    ("task", "option", "known"),
    [
        ("classifier", "threshold", "no options"),
        ("multi_label", "labels", r"\['threshold'\] options"),
        ("regressor", "n_best", "no options"),
        ("tokens", "labels", r"\['decoding', 'split_words'\] options"),
        ("questions", "top_k", r"'no_answer_threshold'\] options"),
        ("choices", "pair", "no options"),
        ("masks", "tokenizer", r"\['top_k'\] options"),
        (
            "sentences",
            "normalize",
            r"\['dimensions', 'precision', 'prompt_name'\] options",
        ),
    ],
)
def test_refuses_unknown_options(task, option, known):
    model = next(x for x in model_of(task).layers if isinstance(x, keras.Model))
    preprocessor = tiny.preprocessor(12)
    with pytest.raises(TypeError, match=rf"{known}. Received: \['{option}'\]"):
        kbl.with_text(model, preprocessor, **{option: 1})


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("multi_label", {"threshold": 1.5}, "`threshold` must be between 0 and 1"),
        ("tokens", {"decoding": "best"}, "`decoding` must be one of"),
        ("questions", {"n_best": 0}, "`n_best` must be a positive integer"),
        ("masks", {"top_k": 1}, "`tokenizer` must recognize masks in text"),
    ],
)
def test_refuses_values_of_options(task, options, message):
    model = next(x for x in model_of(task).layers if isinstance(x, keras.Model))
    with pytest.raises(ValueError, match=message):
        kbl.with_text(model, tiny.preprocessor(12), **options)


@pytest.mark.parametrize("task", ["classifier", "masks", "choices", "sentences"])
def test_refuses_windows_where_texts_are_truncated(task):
    model = next(x for x in model_of(task).layers if isinstance(x, keras.Model))
    with pytest.raises(ValueError, match="no `stride` for a model without `windows`"):
        kbl.with_text(model, tiny.preprocessor(12, stride=2))


@pytest.mark.parametrize(
    ("task", "inputs", "message"),
    [
        ("words", ["a b"], r"`text` must be a batch of lists of strings \(rank 2\)"),
        ("tokens", [["a", "b"]], r"`text` must be a batch of strings \(rank 1\)"),
        ("choices", (["a"], ["b"]), "`text_pair` must be a batch of lists"),
        ("choices", (["a"], [[]]), "`text_pair` must have at least one string"),
        ("choices", (["a", "b"], [["c"], ["d", "e"]]), "of strings in every row"),
        ("choices", (["a"], [["c"], ["d"]]), "same number of rows. Received: 1 and 2"),
        ("questions", (["a"], ["b", "c"]), "same number of rows. Received: 1 and 2"),
        ("questions", ["a"], r"The model takes \['text', 'text_pair'\]"),
    ],
)
def test_refuses_inputs(task, inputs, message):
    with pytest.raises(ValueError, match=message):
        model_of(task).predict(inputs, verbose=0)

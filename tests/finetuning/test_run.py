"""Which rules of the recipe a run follows, by its rows."""

import types

import pytest

from keras_bert_lite.finetuning.rows import Split
from keras_bert_lite.finetuning.run import Run
from tests.finetuning import samples

PAIRS = {"text_pair": "second"}


def run(spec, rows, tmp_path):
    trainer = types.SimpleNamespace(spec=spec)
    return Run(trainer, Split(rows, rows, False), tmp_path, None, False, 0)


def test_few_texts_of_a_label_learn_from_pairs(tmp_path):
    spec, rows = samples.spec("text_classification"), samples.texts(24)
    assert run(spec, rows, tmp_path)._few_per_label(12)
    assert not run(spec, rows, tmp_path)._few_per_label(11)
    assert not run(spec, rows[::2], tmp_path)._few_per_label(24)  # one label
    pairs = samples.spec("text_classification", columns=PAIRS)
    assert not run(pairs, rows, tmp_path)._few_per_label(12)
    tags = samples.spec("token_classification")
    assert not run(tags, samples.tagged(), tmp_path)._few_per_label(24)


@pytest.mark.parametrize(
    ("task", "columns", "apart", "count", "kept"),
    [
        ("text_classification", PAIRS, False, 99, True),
        ("text_classification", PAIRS, False, 100, False),
        ("text_classification", PAIRS, True, 999, True),
        ("text_classification", PAIRS, True, 1000, False),
        ("text_classification", {}, False, 20, False),
        ("regression", PAIRS, True, 99, True),
        ("regression", PAIRS, True, 100, False),
        ("multi_label_classification", PAIRS, True, 100, False),
        ("multiple_choice", {}, False, 9, False),
        ("multiple_choice", {}, True, 999, True),
        ("multiple_choice", {}, True, 1000, False),
        ("token_classification", {}, False, 20, False),
    ],
)
def test_where_a_linear_model_is_kept(task, columns, apart, count, kept, tmp_path):
    spec = samples.spec(task, columns=columns, apart=apart)
    assert run(spec, samples.rows(task, count), tmp_path)._keeps_linear() == kept


def test_fewer_than_a_thousand_rows_are_trained_on_again(tmp_path):
    spec = samples.spec("text_classification")
    assert run(spec, samples.texts(999), tmp_path).refits
    assert not run(spec, samples.texts(1000), tmp_path).refits

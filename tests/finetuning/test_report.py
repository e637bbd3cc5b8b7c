"""The scores of a report, and its pages."""

from keras_bert_lite.finetuning.lengths import Lengths
from keras_bert_lite.finetuning.plan import Plan
from keras_bert_lite.finetuning.report import (
    Report,
    card,
    mistakes_page,
    scores_table,
)


def report(**changes):
    fields = {
        "task": "text_classification",
        "encoder": "an encoder",
        "columns": {},
        "rows": {"train": 1, "validation": 1},
        "lengths": Lengths(1, 1, 1, 0),
        "labels": {},
        "class_weight": None,
        "apart": False,
        "recipe": Plan(1, 4, 1e-3, None, 0),
        "warm_start": {},
        "history": [],
        "best": 0,
        "diverged": "",
        "baselines": {},
        "calibration": {},
        "options": {},
        "metric": "accuracy",
        "scores": {"accuracy": 1.0},
        "intervals": {"accuracy": (0.5, 1.0)},
        "confused": [],
        "worst": [],
        "minutes": 1.0,
    }
    return Report(**{**fields, **changes})


def test_amounts_are_not_in_percent():
    scores = {"spearman": 0.5, "mean_absolute_error": 1.234}
    simple = {"simple": {}}
    spans = {"spearman": (0.4, 0.6), "mean_absolute_error": (1.0, 1.5)}
    found = report(task="regression", scores=scores, intervals=spans, baselines=simple)
    assert scores_table(found) == [
        "|  | spearman | mean_absolute_error |",
        "| --- | --- | --- |",
        "| this model | 50.0 | 1.23 |",
        "| 95 % interval | 40.0 to 60.0 | 1 to 1.5 |",
        "| simple |  |  |",
    ]


def test_labels_do_not_end_a_cell():
    confused = [{"expected": "a|b", "answer": "c", "count": 2}]
    worst = [{"text": "x", "expected": "a|b", "answer": "c"}]
    page = mistakes_page(report(confused=confused, worst=worst))
    assert "| a\\|b | c | 2 |" in page
    assert "| x | a\\|b | c |" in page


def test_labels_are_shown_as_they_are():
    label = "<img src=x onerror=alert(1)>\n# [a](b) `c` *d* e_f|~ &amp; \\"
    shown = (
        "&lt;img src=x onerror=alert(1)&gt; \\# \\[a\\](b) \\`c\\` \\*d\\* e\\_f\\|\\~ "
        "&amp;amp; \\\\"
    )
    labels = {"labels": [label, "b"]}
    page = card(report(encoder=label, labels=labels, class_weight=[1.0, 2.0]))
    assert page.count(shown) == 3  # heading, labels, weights
    assert "<" not in page
    assert "\n# [" not in page
    worst = [{"text": label, "expected": label, "answer": "b"}]
    assert mistakes_page(report(worst=worst)).count(shown) == 2

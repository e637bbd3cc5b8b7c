"""The scores of a report."""

from keras_bert_lite.finetuning.report import card, mistakes_page, scores_table


def test_amounts_are_not_in_percent():
    scores = {"spearman": 0.5, "mean_absolute_error": 1.234}
    report = {"task": "regression", "scores": scores, "baselines": {"simple": {}}}
    assert scores_table(report) == [
        "|  | spearman | mean_absolute_error |",
        "| --- | --- | --- |",
        "| this model | 50.0 | 1.23 |",
        "| simple |  |  |",
    ]


def test_labels_do_not_end_a_cell():
    confused = [{"expected": "a|b", "answer": "c", "count": 2}]
    worst = [{"text": "x", "expected": "a|b", "answer": "c"}]
    page = mistakes_page({"confused": confused, "worst": worst})
    assert "| a\\|b | c | 2 |" in page
    assert "| x | a\\|b | c |" in page


def test_labels_are_shown_as_they_are():
    label = "<img src=x onerror=alert(1)>\n# [a](b) `c` *d* e_f|~ &amp; \\"
    shown = (
        "&lt;img src=x onerror=alert(1)&gt; \\# \\[a\\](b) \\`c\\` \\*d\\* e\\_f\\|\\~ "
        "&amp;amp; \\\\"
    )
    report = {
        "task": "text_classification",
        "encoder": label,
        "rows": {"train": 1, "validation": 1},
        "lengths": {"median": 1, "highest": 1, "limit": 1, "cut": 0},
        "refitted": False,
        "labels": {"labels": [label, "b"]},
        "class_weight": [1.0, 2.0],
        "recipe": {"text_columns": [label]},
        "calibration": {},
        "options": {},
        "contrasted": False,
        "metric": "accuracy",
        "scores": {"accuracy": 1.0},
    }
    page = card(report)
    assert page.count(shown) == 3
    assert "<" not in page
    assert "\n# [" not in page
    worst = [{"text": label, "expected": label, "answer": "b"}]
    assert mistakes_page({"confused": [], "worst": worst}).count(shown) == 2

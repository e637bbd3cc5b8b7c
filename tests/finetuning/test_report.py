"""The scores of a report."""

from keras_bert_lite.finetuning.report import mistakes_page, scores_table


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

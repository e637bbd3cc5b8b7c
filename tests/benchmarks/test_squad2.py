"""The scores of `benchmarks.squad2`."""

import numpy as np
import pytest

from benchmarks.squad2 import markdown, scores_of


def question(number, *texts):
    return {"id": number, "answers": {"text": list(texts), "answer_start": []}}


def test_scores_at_a_share_of_silence():
    rows = [
        question("a", "one"),
        question("b", "two"),
        *(question(str(i)) for i in range(20)),
    ]
    lacking = np.array([-4.0, -1.0, *np.linspace(-3, 3, 20)])
    found = scores_of(rows, ["one", "two", *["none"] * 20], lacking)
    # Three of twenty may be answered, those below -2.05: so "one" is, "two" is not.
    assert found["silent"] == pytest.approx(85)
    assert found["f1_silent"] == pytest.approx(50)
    assert found["f1_of_spans"] == 100


def test_table():
    scores = {"f1_silent": 50, "silent": 90, "f1_of_spans": 100, "best_f1": 75}
    record = {"rows": 9, "way": "finetune", "seed": 0, "limit": 15, "scores": scores}
    times = {"minutes": 14.5, "cores": 2, "epochs": 1.5}
    line = "| 9 | finetune, minutes=15 | 0 | 1.5 | 50.0 | 90.0 | 100.0 | 75.0 | 14.5 |"
    assert line in markdown([{**record, **times}])

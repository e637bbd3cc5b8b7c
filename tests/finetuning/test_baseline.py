import pytest

from keras_bert_lite.finetuning.baseline import SIMILAR, baselines
from keras_bert_lite.finetuning.kinds import KINDS
from tests.finetuning import samples

LABELS = ["most common label", "TF-IDF, logistic regression"]


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("text_classification", LABELS),
        (
            "multi_label_classification",
            LABELS,
        ),
        ("regression", ["TF-IDF, ridge regression"]),
        ("token_classification", ["most common tag of each word"]),
        (
            "intent_and_slots",
            ["TF-IDF, logistic regression; most common tag of each word"],
        ),
        ("question_answering", []),
        ("multiple_choice", ["TF-IDF, most similar choice"]),
    ],
)
def test_simple_models(task, names):
    kind = KINDS[task]()
    rows = kind.prepared(samples.rows(task))
    found = baselines(kind, rows, rows, kind.find_labels(rows))
    assert list(found) == names
    for scores in found.values():
        assert 0 <= scores[kind.metric] <= 1
    if task == "token_classification":
        assert found[names[0]]["f1"] == 1  # each word has one tag
    if task == "intent_and_slots":
        assert found[names[0]]["intent_accuracy"] == 1
    if task == "text_classification":
        assert found[names[1]]["accuracy"] > found[names[0]]["accuracy"] == 0.5


def test_one_label_and_no_words():
    kind = KINDS["text_classification"]()
    rows = [{"text": "fine day", "label": "a"}] * 4
    found = baselines(kind, rows, rows, {"labels": ["a", "b"]})
    assert all(x["accuracy"] == 1 for x in found.values())
    rows = [{"text": "!", "label": "ab"[i % 2]} for i in range(4)]
    found = baselines(kind, rows, rows, {"labels": ["a", "b"]})
    assert found["TF-IDF, logistic regression"] == {}


def test_the_most_similar_choice():
    kind = KINDS["multiple_choice"]()
    rows = [
        {"text": "fine day", "choices": ["the weather", "a fine one"], "label": 1},
        {"text": "bad weather", "choices": ["the weather", "a fine one"], "label": 0},
    ]
    assert baselines(kind, rows, rows, {})[SIMILAR] == {"accuracy": 1.0}
    rows = [{"text": "!", "choices": ["?", "."], "label": 0}] * 4
    assert baselines(kind, rows, rows, {})[SIMILAR] == {"accuracy": 1.0}


def test_intents_without_words():
    kind = KINDS["intent_and_slots"]()
    row = {"words": ["!"], "tags": ["O"]}
    rows = [{**row, "intent": intent} for intent in "aab"]
    (scores,) = baselines(kind, rows, rows, kind.find_labels(rows)).values()
    assert scores["intent_accuracy"] == 2 / 3

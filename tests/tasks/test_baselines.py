import pytest

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
        ("ranking", ["BM25"]),
    ],
)
def test_simple_models(task, names):
    rows = samples.rows(task)
    spec = samples.spec(task, samples.spec(task).format.all_labels(rows))
    found = spec.baselines(rows, rows)
    assert list(found) == names
    for scores in found.values():
        assert 0 <= scores[spec.metric] <= 1
    if task == "token_classification":
        assert found[names[0]]["f1"] == 1  # each word has one tag
    if task == "intent_and_slots":
        assert found[names[0]]["intent_accuracy"] == 1
    if task == "text_classification":
        assert found[names[1]]["accuracy"] > found[names[0]]["accuracy"] == 0.5


def test_one_label_and_no_words():
    spec = samples.spec("text_classification", {"labels": ["a", "b"]})
    rows = [{"text": "fine day", "label": "a"}] * 4
    found = spec.baselines(rows, rows)
    assert all(x["accuracy"] == 1 for x in found.values())
    rows = [{"text": "!", "label": "ab"[i % 2]} for i in range(4)]
    found = spec.baselines(rows, rows)
    assert found["TF-IDF, logistic regression"] == {}


def test_the_most_similar_choice():
    spec = samples.spec("multiple_choice")
    rows = [
        {"text": "fine day", "choices": ["the weather", "a fine one"], "label": 1},
        {"text": "bad weather", "choices": ["the weather", "a fine one"], "label": 0},
    ]
    assert [*spec.baselines(rows, rows).values()] == [{"accuracy": 1.0}]
    rows = [{"text": "!", "choices": ["?", "."], "label": 0}] * 4
    assert [*spec.baselines(rows, rows).values()] == [{"accuracy": 1.0}]


def test_candidates_in_the_order_of_bm25():
    spec = samples.spec("ranking")
    rows = [
        {"query": "fine day", "candidates": ["the", "a fine day"], "grades": [0, 1]},
        {"query": "weather", "candidates": ["weather", "day"], "grades": [1, 0]},
    ]
    assert set(spec.baselines(rows, rows)["BM25"].values()) == {1.0}


def test_intents_without_words():
    row = {"words": ["!"], "tags": ["O"]}
    rows = [{**row, "intent": intent} for intent in "aab"]
    labels = {"intents": ["a", "b"], "slots": ["O"]}
    spec = samples.spec("intent_and_slots", labels)
    (scores,) = spec.baselines(rows, rows).values()
    assert scores["intent_accuracy"] == 2 / 3


@pytest.mark.parametrize(
    ("more", "name", "scores"),
    [
        ([{}, {}, {}], "BM25", {"accuracy@1": 1, "mrr@10": 1}),
        ([{"negative": "no word"}] * 3, "BM25", {"accuracy": 1}),
        (
            [{"negative": "a red fox"}, *[{"negative": "x"}] * 2],
            "BM25",
            {"accuracy": 2 / 3},
        ),
        ([{"label": 2}, {"label": 1}, {"label": 0}], "TF-IDF", {"spearman": 1}),
    ],
)
def test_texts_are_compared_by_their_words(more, name, scores):
    texts = [
        {"text": "red fox", "text_pair": "the red fox"},
        {"text": "blue hen", "text_pair": "a hen that runs far away"},
        {"text": "old cat", "text_pair": "who knows the cat so well as its cat"},
    ]
    rows = [{**x, **y} for x, y in zip(texts, more, strict=True)]
    if "label" in rows[0]:
        rows[2]["text_pair"] = "nothing alike"
    columns = {x: x for x in rows[0] if x in ("negative", "label")}
    found = samples.spec("sentence_embedding", columns=columns).baselines(rows, rows)
    assert found[name] == {
        **found[name],
        **{k: pytest.approx(v) for k, v in scores.items()},
    }

"""Scores of answers, against scikit-learn and seqeval."""

import numpy as np
import pytest
import seqeval.metrics
from sklearn import metrics
from sklearn.utils import class_weight

from keras_bert_lite.finetuning import decide
from keras_bert_lite.finetuning.spec import TUNABLE
from tests.finetuning import samples

RNG = np.random.default_rng(0)


def test_labels():
    names = ["a", "b", "c"]
    true, found = (RNG.choice(names, 60) for _ in range(2))
    rows = [{"text": "x", "label": str(x)} for x in true]
    scores = TUNABLE["text_classification"].scorer.scores(
        rows, {"label": found}, {"labels": names}
    )
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(true, found))
    expected = metrics.f1_score(true, found, average="macro")
    assert scores["macro_f1"] == pytest.approx(expected)


def test_weights_of_labels():
    names = ["a", "b", "c"]
    labels = [str(x) for x in RNG.choice(names[:2], 60)]
    rows = [{"text": "x", "label": x} for x in labels]
    spec = samples.spec("text_classification", {"labels": names})
    weights = decide.with_class_weight(spec, "balanced", rows).class_weight
    expected = class_weight.compute_class_weight(
        "balanced", classes=np.array(names[:2]), y=labels
    )
    np.testing.assert_allclose(weights, [*expected, 1.0])


def test_several_labels():
    names = ["a", "b", "c"]
    true, found = ((RNG.random((60, 3)) < 0.4).astype(int) for _ in range(2))
    rows = [
        {"text": "x", "label": [n for n, y in zip(names, row, strict=True) if y]}
        for row in true
    ]
    answers = {"labels": np.where(found, names, "")}
    scores = TUNABLE["multi_label_classification"].scorer.scores(
        rows, answers, {"labels": names}
    )
    for average in ("micro", "macro"):
        expected = metrics.f1_score(true, found, average=average, zero_division=0)
        assert scores[f"{average}_f1"] == pytest.approx(expected)


def test_entities():
    names = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    true, found = (
        [[str(x) for x in RNG.choice(names, 9)] for _ in range(40)] for _ in range(2)
    )
    rows = [{"words": ["w"] * 9, "tags": tags} for tags in true]
    padded = np.array([[*row, ""] for row in found])
    scores = TUNABLE["token_classification"].scorer.scores(
        rows, {"labels": padded}, {"labels": names}
    )
    assert scores["f1"] == pytest.approx(seqeval.metrics.f1_score(true, found))
    same = np.array(true) == np.array(found)
    assert scores["accuracy"] == pytest.approx(same.mean())


def test_a_word_without_a_tag_is_outside():
    rows = [{"words": ["a", "\u200b", "b"], "tags": ["B-X", "O", "O"]}]
    answers = {"labels": np.array([["B-X", "", "O"]])}
    scores = TUNABLE["token_classification"].scorer.scores(
        rows, answers, {"labels": ["O", "B-X", "I-X"]}
    )
    assert scores == {"f1": 1.0, "accuracy": 1.0}


def test_mistaken_intents():
    rows = [
        {"words": ["a", "b"], "tags": ["B-X", "O"], "intent": intent}
        for intent in ("buy", "sell")
    ]
    answers = {
        "label": np.array(["sell", "sell"]),
        "labels": np.array([["B-X", "O"], ["O", "O"]]),
    }
    found = TUNABLE["intent_and_slots"].scorer.mistakes(rows, answers, {})
    pairs = [(x["expected"], x["answer"]) for x in found["confused"]]
    assert pairs == [("buy", "sell"), ("B-X", "O")]
    texts = [(x["expected"], x["answer"]) for x in found["worst"]]
    assert texts == [("buy: ", "sell: "), ("sell: a/B-X", "sell: a/O")]


def test_tags_without_a_scheme_are_scored_by_accuracy():
    rows = [{"words": ["a", "b"], "tags": ["NOUN", "VERB"]}]
    answers = {"labels": np.array([["NOUN", "NOUN"]])}
    scores = TUNABLE["token_classification"].scorer.scores(
        rows, answers, {"labels": ["NOUN", "VERB"]}
    )
    assert scores == {"f1": 0.5, "accuracy": 0.5}


def test_numbers():
    true, found = RNG.random(30), RNG.random(30)
    rows = [{"text": "x", "label": x} for x in true]
    scores = TUNABLE["regression"].scorer.scores(rows, {"score": found}, {})
    assert scores["pearson"] == pytest.approx(np.corrcoef(true, found)[0, 1])
    for value, score in ((1.0, 0.0), (np.nan, np.nan)):  # constant; diverged
        answers = {"score": np.full(30, value)}
        found = TUNABLE["regression"].scorer.scores(rows, answers, {})
        np.testing.assert_array_equal([found["spearman"], found["pearson"]], score)


def test_any_of_several_answers_is_right():
    rows = [{"question": "q", "context": "c", "answers": {"text": ["a", "b"]}}]
    answers = {"answer": np.array(["b"])}
    assert (
        TUNABLE["question_answering"].scorer.mistakes(rows, answers, {})["worst"] == []
    )


def test_questions():
    rows = [
        {"question": "q", "context": "c", "answers": {"text": ["the day"]}},
        {"question": "q", "context": "c", "answers": {"text": []}},
    ]
    scorer = TUNABLE["question_answering"].scorer
    answers = {
        "answer": np.array(["day", "x"]),
        "answers": np.array([["day"], ["x"]]),
        "no_answer_score": np.array([-1.0, 2.0]),
    }
    assert scorer.scores(rows, answers, {})["f1"] == 0.5
    options, tuned = scorer.tuned(rows, answers, {})
    assert -1 <= options["no_answer_threshold"] < 2
    assert scorer.scores(rows, tuned, {})["f1"] == 1


def test_labels_that_occur_nowhere_do_not_count():
    labels = {"labels": ["a", "b", "c"]}
    scorer = TUNABLE["text_classification"].scorer
    answers = {"label": np.array(["a", "b"])}
    rows = [{"text": "x", "label": x} for x in "ab"]
    assert scorer.scores(rows, answers, labels)["macro_f1"] == 1
    scorer = TUNABLE["multi_label_classification"].scorer
    answers = [["a", "", ""], ["", "b", ""]]
    rows = [{"text": "x", "label": [x]} for x in "ab"]
    found = scorer.scores(rows, {"labels": np.array(answers)}, labels)
    assert found == {"micro_f1": 1, "macro_f1": 1}
    rows = [{"text": "x", "label": []}]
    none = {"labels": np.array([["", "", ""]])}
    assert scorer.scores(rows, none, labels) == {"micro_f1": 0, "macro_f1": 0}


def test_an_intent_that_is_wrong_makes_the_text_wrong():
    row = {"words": ["a"], "tags": ["O"]}
    rows = [{**row, "intent": "buy"}, {**row, "intent": "sell"}]
    answers = {"label": np.array(["buy", "buy"]), "labels": np.array([["O"], ["O"]])}
    scores = TUNABLE["intent_and_slots"].scorer.scores(
        rows, answers, {"intents": ["buy", "sell"], "slots": ["O", "B-X", "I-X"]}
    )
    assert (scores["exact"], scores["intent_accuracy"]) == (0.5, 0.5)


def test_a_score_at_the_threshold_is_an_answer():
    rows = [{"answers": {"text": ["x"]}}, {"answers": {"text": []}}]
    answers = {
        "answers": np.array([["x"], ["x"]]),
        "no_answer_score": np.array([1.0, 2.0]),
    }
    scorer = TUNABLE["question_answering"].scorer
    options, tuned = scorer.tuned(rows, answers, {})
    assert options == {"no_answer_threshold": 1.0}
    assert tuned["answer"].tolist() == ["x", ""]


@pytest.mark.parametrize(("count", "threshold"), [(99, 0.3), (100, 0.5)])
def test_few_rows_do_not_choose_a_threshold(count, threshold):
    rows = [{"text": "x", "label": ["a"] * (i % 2)} for i in range(count)]
    scores = np.array([[0.6 if row["label"] else 0.5] for row in rows])
    scorer = TUNABLE["multi_label_classification"].scorer
    options, _ = scorer.tuned(rows, {"scores": scores}, {"labels": ["a"]})
    assert options == {"threshold": threshold}

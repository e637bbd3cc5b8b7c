"""SQuAD's numbers, as its official programs count them."""

import json
import math

import numpy as np
import pytest

from keras_bert_lite.training.scores.squad import (
    normalize_answer,
    squad_scores,
)
from tests.paths import DATA

SQUAD = DATA / "squad"
needs_squad = pytest.mark.skipif(
    not SQUAD.is_dir(), reason=f"{SQUAD} is missing; KERAS_BERT_LITE_DATA names it"
)


def question(name, *texts):
    return {
        "id": name,
        "answers": {"text": list(texts), "answer_start": [0] * len(texts)},
    }


REFERENCES = [
    question("all", "The Black Dog", "a dog"),
    question("half", "black dog runs"),
    question("twice", "dog dog"),
    question("wrong", "cat"),
    question("none"),
    question("invented"),
]
PREDICTIONS = {
    "all": "black dog!",
    "half": "the dog",
    "twice": "dog",
    "wrong": "",
    "none": "",
    "invented": "cat",
    "another": "cat",
}


def official(version):
    """The questions of an official file, in the form of `datasets`."""
    articles = json.loads((SQUAD / f"dev-v{version}.json").read_text("utf-8"))["data"]
    return [
        question(each["id"], *(answer["text"] for answer in each["answers"]))
        for article in articles
        for paragraph in article["paragraphs"]
        for each in paragraph["qas"]
    ]


def published(name):
    return json.loads((SQUAD / "predictions" / f"{name}.json").read_text("utf-8"))


def test_counts_by_hand():
    got = squad_scores(iter(REFERENCES), PREDICTIONS)
    f1 = {"all": 1, "half": 2 / 4, "twice": 2 / 3}
    assert got == pytest.approx(
        {
            "exact": 100 * 2 / 6,
            "f1": 100 * (sum(f1.values()) + 1) / 6,
            "total": 6,
            "HasAns_exact": 25,
            "HasAns_f1": 100 * sum(f1.values()) / 4,
            "HasAns_total": 4,
            "NoAns_exact": 50,
            "NoAns_f1": 50,
            "NoAns_total": 2,
        }
    )
    assert set(squad_scores(REFERENCES[:4], PREDICTIONS)) == {
        *("exact", "f1", "total", "HasAns_exact", "HasAns_f1", "HasAns_total")
    }


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("The  Cat, a\tcat; an Anaconda.", "cat cat anaconda"),
        ("U.S.A. – the 1990s’", "usa – 1990s’"),
        ("İstanbul ÉCOLE", "i̇stanbul école"),
        ("the", ""),
    ],
)
def test_normalizes_as_the_official_program(text, normalized):
    assert normalize_answer(text) == normalized


@pytest.mark.parametrize("ties", [False, True])
def test_the_best_threshold_is_that_of_all_thresholds(ties):
    generator = np.random.default_rng(0)
    references = [question(str(i), *["dog"] * (i % 2)) for i in range(60)]
    texts = generator.choice(["dog", "black dog", "cat", ""], 60)
    predictions = {str(i): str(text) for i, text in enumerate(texts)}
    scores = generator.normal(size=60) - np.arange(60) % 2
    scores = {str(i): round(x) if ties else x for i, x in enumerate(scores)}
    got = squad_scores(references, predictions, scores)

    def above(threshold):
        kept = {i: x if scores[i] <= threshold else "" for i, x in predictions.items()}
        return squad_scores(references, kept)

    for name in ("exact", "f1"):
        tried = [above(x)[name] for x in (-math.inf, *scores.values())]
        assert got[f"best_{name}"] == pytest.approx(max(tried))
        assert above(got[f"best_{name}_thresh"])[name] == pytest.approx(max(tried))


def test_the_best_may_be_to_answer_nothing():
    got = squad_scores([question("a")], {"a": "cat"}, {"a": -3.0})
    assert got["exact"] == 0
    assert (got["best_f1"], got["best_f1_thresh"]) == (100, -math.inf)


@needs_squad
def test_berts_published_numbers():
    """Those of the leaderboard's BERT on the development sets."""
    got = squad_scores(official("1.1"), published("bert-ensemble-v1.1"))
    assert (round(got["exact"], 2), round(got["f1"], 2)) == (86.21, 92.20)
    assert got["total"] == got["HasAns_total"] == 10_570
    got = squad_scores(official("2.0"), published("bert-single-v2.0"))
    assert (round(got["exact"], 2), round(got["f1"], 2)) == (78.74, 81.78)
    totals = {name: got[f"{name}_total"] for name in ("HasAns", "NoAns")}
    assert totals == {"HasAns": 5_928, "NoAns": 5_945}


@needs_squad
@pytest.mark.parity
def test_equals_torchmetrics():
    squad = pytest.importorskip("torchmetrics.functional.text").squad
    references, predictions = official("1.1")[::5], published("bert-ensemble-v1.1")
    want = squad(
        [{"id": x["id"], "prediction_text": predictions[x["id"]]} for x in references],
        references,
    )
    got = squad_scores(references, predictions)
    assert got["exact"] == pytest.approx(float(want["exact_match"]))
    assert got["f1"] == pytest.approx(float(want["f1"]), rel=1e-5)  # float32


def test_refuses_what_is_missing():
    with pytest.raises(
        ValueError, match=r"`predictions` must have .* 5 of 6 are missing"
    ):
        squad_scores(REFERENCES, {"all": "dog"})
    with pytest.raises(ValueError, match=r"`no_answer_scores` must have every .*'all'"):
        squad_scores(REFERENCES, PREDICTIONS, {})
    with pytest.raises(ValueError, match="`references` must have at least one"):
        squad_scores([], {})


def test_refuses_what_is_not_as_it_should_be():
    with pytest.raises(
        TypeError, match=r"`predictions` must be strings.*b'cat'.*'all'"
    ):
        squad_scores(REFERENCES, {**PREDICTIONS, "all": b"cat"})
    with pytest.raises(ValueError, match=r"`references` must have each id once.*'all'"):
        squad_scores(REFERENCES + REFERENCES[:1], PREDICTIONS)

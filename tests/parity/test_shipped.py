"""The shipped encoder in transformers and sentence-transformers."""

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.sources import SHIPPED
from tests.checkpoints.shipped import NAME, TEXTS

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch", reason="needs torch and transformers")
transformers = pytest.importorskip("transformers")


def test_transformers():
    path = SHIPPED / NAME
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    model = transformers.AutoModel.from_pretrained(path, dtype=torch.float32).eval()
    given = tokenizer(TEXTS, padding=True, return_tensors="pt")
    inputs = kbl.load_preprocessor(NAME)(TEXTS)
    np.testing.assert_array_equal(inputs["token_ids"], given["input_ids"].numpy())
    with torch.no_grad():
        wanted = model(**given).last_hidden_state.numpy()
    ours = np.asarray(kbl.load_encoder(NAME)(inputs)["sequence_output"])
    real = given["attention_mask"].numpy().astype(bool)
    np.testing.assert_allclose(ours[real], wanted[real], atol=1e-5)


def test_sentence_transformers():
    module = pytest.importorskip("sentence_transformers")
    theirs = module.SentenceTransformer(str(SHIPPED / NAME), device="cpu").float()
    wanted = theirs.encode(TEXTS)
    sentences = kbl.with_text(kbl.load_model(NAME), kbl.load_preprocessor(NAME))
    vectors = sentences.predict(TEXTS, verbose=0)["sentence_embedding"]
    np.testing.assert_allclose(vectors, wanted, atol=1e-5)

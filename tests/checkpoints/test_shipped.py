"""The encoder that comes with the package."""

import string
from pathlib import Path

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.sources import SHIPPED
from tests import tiny
from tests.checkpoints.shipped import NAME, TEXTS


def test_size():
    files = [x for x in (SHIPPED / NAME).rglob("*") if x.is_file()]
    assert sum(x.stat().st_size for x in files) < 12e6
    assert "license: cc0-1.0" in (SHIPPED / NAME / "README.md").read_text()


@pytest.fixture(scope="module")
def sentences():
    return kbl.with_text(kbl.load_model(NAME), kbl.load_preprocessor(NAME))


def test_what_it_is():
    encoder = kbl.load_encoder(NAME, dropout=0.0)
    assert encoder.output["sequence_output"].shape == (None, None, 256)
    preprocessor = kbl.load_preprocessor(NAME)
    assert preprocessor.sequence_length == 128
    assert preprocessor.tokenizer.vocabulary_size() == 8205
    assert kbl.load_tokenizer(NAME).lowercase


def test_sentences_of_one_meaning_are_near(sentences):
    vectors = sentences.predict(TEXTS, verbose=0)["sentence_embedding"]
    similar = vectors @ vectors.T
    assert similar[0, 1] > similar[0, 2] + 0.2
    assert similar[0, 1] > similar[1, 2] + 0.2


def test_ascii_punctuation_is_known():
    tokenizer = kbl.load_tokenizer(NAME)
    assert tokenizer.unknown_id not in tokenizer(string.punctuation)
    rows = kbl.load_encoder(NAME).get_layer("embeddings").token_embedding.embeddings
    ascii, typographic = (rows[tokenizer.token_to_id(x)] for x in "'’")
    np.testing.assert_array_equal(ascii, typographic)


def test_a_directory_of_that_name_goes_before(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kbl.save_hugging_face(tiny.encoder(), tiny.preprocessor(), NAME)
    assert kbl.load_tokenizer(NAME).vocabulary_size() == len(tiny.VOCABULARY)
    kept = kbl.load_tokenizer(Path(SHIPPED) / NAME)
    assert kept.vocabulary_size() == 8205


@pytest.mark.parametrize("name", ["bert_mini_book", "bert_mini_books/", "", ".."])
def test_other_names(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"{NAME}|config.json"):
        kbl.load_encoder(name)


def test_loaded_weights_are_the_stored_ones():
    """All weights are exact in float16, as they are stored."""
    for value in kbl.load_encoder(NAME).get_weights():
        np.testing.assert_array_equal(
            value.astype("float16").astype(value.dtype), value
        )

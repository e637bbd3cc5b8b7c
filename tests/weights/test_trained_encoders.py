"""Trained encoders, of one language and of a hundred, beside their references.

`make weights` puts them in a folder and runs this; so does any folder with directories
of these names that sentence-transformers reads: KERAS_BERT_LITE_ENCODERS=folder.
"""

import functools

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite._tensorflow import tf
from tests.paths import DATA, ENCODERS
from tests.weights.texts import by_file

LENGTH = 64
FEW = 8  # of these, one in so many answers what is saved or exported
# Texts of each file whose vectors are compared. The others are of fewer languages.
COUNTS = {"minilm": 8, "mpnet": 4, "e5": 64, "e5_enpt": 8}
pytestmark = [
    pytest.mark.weights,
    pytest.mark.tensorflow(reason="strings need TensorFlow"),
    pytest.mark.skipif(
        not (DATA / "xquad").is_dir(), reason=f"needs the texts in {DATA}"
    ),
]


@pytest.fixture(scope="module", params=COUNTS)
def directory(request):
    path = ENCODERS / request.param
    if not path.is_dir():
        pytest.skip(f"needs the encoder {path}")
    return path


@functools.lru_cache(maxsize=1)
def ours(directory):
    preprocessor = kbl.load_preprocessor(directory, sequence_length=LENGTH)
    return kbl.load_model(directory), preprocessor


def some_texts(directory):
    """Some texts of every file, spread over it."""
    count, texts = COUNTS[directory.name], []
    for file in by_file().values():
        texts += file[:: max(1, len(file) // count)][:count]
    return texts


@functools.lru_cache(maxsize=1)
def their_vectors(directory):
    return vectors_of_theirs(directory, some_texts(directory))


def vectors_of_theirs(directory, texts):
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(directory), device="cpu")
    theirs.max_seq_length = LENGTH
    return theirs.encode(texts, show_progress_bar=False)


def vectors(model, preprocessor, texts):
    served = kbl.with_text(model, preprocessor)
    return served.predict(texts, verbose=0)["sentence_embedding"]


def test_ids_are_those_of_transformers(directory):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(directory)
    tokenizer = kbl.load_tokenizer(directory)
    for name, texts in by_file().items():
        expected = theirs(texts, add_special_tokens=False)["input_ids"]
        assert tokenizer(texts).to_list() == expected, name


def test_vectors_are_those_of_sentence_transformers(directory):
    found = vectors(*ours(directory), some_texts(directory))
    np.testing.assert_allclose(found, their_vectors(directory), rtol=0, atol=1e-5)


def test_what_is_saved_is_loaded_in_torch(directory, tmp_path):
    kbl.save_hugging_face(*ours(directory), tmp_path / "saved")
    texts = some_texts(directory)[::FEW]
    found = vectors_of_theirs(tmp_path / "saved", texts)
    expected = their_vectors(directory)[::FEW]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_exports_answer_strings(directory, tmp_path):
    path = kbl.export_saved_model(kbl.with_text(*ours(directory)), tmp_path / "served")
    assert kbl.check_servable(path).ok
    texts = some_texts(directory)[::FEW]
    answer = tf.saved_model.load(str(path)).signatures["serving_default"]
    found = answer(text=tf.constant(texts))["sentence_embedding"]
    expected = their_vectors(directory)[::FEW]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_kept_tokens_change_no_vector(directory, tmp_path):
    model, preprocessor = ours(directory)
    texts = some_texts(directory)[::4]
    smaller, kept = kbl.surgery.keep_tokens(model, preprocessor, texts)
    assert kept.tokenizer.vocabulary_size() < preprocessor.tokenizer.vocabulary_size()
    expected = vectors(model, preprocessor, texts)
    found = vectors(smaller, kept, texts)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    kbl.save_hugging_face(smaller, kept, tmp_path / "smaller")
    theirs = vectors_of_theirs(tmp_path / "smaller", texts[::8])
    np.testing.assert_allclose(theirs, expected[::8], rtol=0, atol=1e-5)

"""What the functions on files accept beside what the command gives them."""

import gzip
import json

import pytest

import keras_bert_lite as kbl
from keras_bert_lite.models.encoder_model import config_of
from keras_bert_lite.pretraining import vocabulary
from keras_bert_lite.pretraining.text_run import new_encoder
from tests import tiny
from tests.pretraining.data.samples import files, text

pytestmark = pytest.mark.tensorflow(reason="the tokenizer needs TensorFlow")


@pytest.fixture
def books(tmp_path):
    path = tmp_path / "books.txt"
    path.write_text(text(), encoding="utf-8")
    return path


def write(path, directory, preprocessor, **options):
    options = {"workers": 1, "show_progress": False, **options}
    kbl.pretraining.write_pretraining_data(path, directory, preprocessor, **options)
    return files(directory)


def test_data_by_the_name_of_a_checkpoint(books, tmp_path):
    by_name = write([books], tmp_path / "name", "bert_mini_books")
    loaded = kbl.load_preprocessor("bert_mini_books", sequence_length=128)
    assert by_name == write(books, tmp_path / "loaded", loaded)


def test_data_of_another_length(books, tmp_path):
    shorter = write(books, tmp_path / "a", tiny.preprocessor(32), sequence_length=16)
    assert shorter == write(books, tmp_path / "b", tiny.preprocessor(16))


def test_a_vocabulary_of_packed_files(books, tmp_path):
    packed = tmp_path / "books.txt.gz"
    packed.write_bytes(gzip.compress(books.read_bytes()))
    kbl.pretraining.write_vocabulary([books, books], tmp_path / "a", 60)
    kbl.pretraining.write_vocabulary([packed, books], tmp_path / "b", 60)
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_a_vocabulary_appears_whole(books, tmp_path, monkeypatch):
    def learn(size=60):
        vocabulary.write_vocabulary(books, tmp_path / "a", size, show_progress=False)

    learn()
    whole = files(tmp_path / "a")
    assert sorted(whole) == sorted(vocabulary.FILES)
    learn(45)  # replaces it
    replaced = files(tmp_path / "a")
    assert whole != replaced
    write = vocabulary.write_tokenizer

    def fail(preprocessor, config, directory):
        write(preprocessor, config, directory)
        raise OSError("No space left on device")

    monkeypatch.setattr(vocabulary, "write_tokenizer", fail)
    with pytest.raises(OSError, match="No space left"):
        learn()
    assert files(tmp_path / "a") == replaced
    assert sorted(x.name for x in tmp_path.iterdir()) == ["a", "books.txt"]


def test_a_vocabulary_takes_the_place_of_no_other_files(books, tmp_path, monkeypatch):
    monkeypatch.setattr(vocabulary, "train_wordpiece", None)  # refused before
    for directory in (tmp_path, books):
        with pytest.raises(ValueError, match="`directory` must"):
            vocabulary.write_vocabulary(books, directory, 60)


def test_an_encoder_of_a_configuration_a_name_or_a_file(tmp_path):
    config = tiny.config(vocabulary_size=7)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config.to_dict()))
    pieces = tiny.tokenizer().vocabulary_size()
    for given in (config, path, str(path)):
        made = config_of(new_encoder(given, tiny.preprocessor(), dropout=0.3))
        assert made == config.replace(vocabulary_size=pieces, dropout=0.3)
    named = config_of(new_encoder("bert_tiny_uncased", tiny.preprocessor()))
    assert (named.hidden_dim, named.vocabulary_size) == (128, pieces)

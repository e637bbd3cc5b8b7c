"""Conversions appear whole or not at all."""

import pytest

import keras_bert_lite as kbl
from keras_bert_lite import _files
from keras_bert_lite.finetuning.convert import PRESET
from tests import tiny

pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")


def contents(folder):
    return {x.name: x.read_bytes() for x in folder.iterdir()}


@pytest.mark.parametrize(
    ("form", "names"), [("keras", ("model.keras",)), ("keras_hub", PRESET)]
)
def test_a_failed_conversion_leaves_the_old_files(form, names, tmp_path, monkeypatch):
    source, folder = tmp_path / "model.keras", tmp_path / "there"
    body = tiny.classifier(["x", "y"], activation="gelu_tanh")  # as in KerasHub
    kbl.with_text(body, tiny.preprocessor()).save(source)
    for _ in range(2):  # the second replaces the first
        kbl.convert(source, folder, form)
    old = contents(folder)
    assert set(old) == set(names)

    def fail(folder):
        raise OSError("No space left on device")

    monkeypatch.setattr(_files, "_locked", fail)  # all is written then
    for directory in (folder, tmp_path / "new" / "one"):
        with pytest.raises(OSError, match="No space left"):
            kbl.convert(source, directory, form)
    assert contents(folder) == old
    assert not (tmp_path / "new").exists()


def test_a_file_is_refused_before_the_source_is_read(tmp_path):
    (tmp_path / "new.txt").touch()
    for form in ("hugging_face", "keras", "keras_hub", "saved_model"):
        with pytest.raises(ValueError, match=r"must not be, or be in, a.*new\.txt"):
            kbl.convert("no_such_model", tmp_path / "new.txt", form)

"""Conversions appear whole or not at all."""

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite import _files
from keras_bert_lite.finetuning.convert import PRESET
from keras_bert_lite.tasks.text_model import load_text_model
from keras_bert_lite.tasks.text_parts import answer_of, preprocessor_of
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


@pytest.mark.parametrize("form", ["keras", "hugging_face"])
@pytest.mark.parametrize("run", [False, True])
def test_only_the_tokens_of_a_file_are_kept(run, form, tmp_path):
    model = kbl.multi_label_classifier(tiny.encoder(), ["x", "y"])
    source = tmp_path / ("source.keras" if run else "source")
    preprocessor = tiny.preprocessor()
    if run:
        kbl.with_text(model, preprocessor, threshold=0.4).save(source)
    else:
        kbl.save_hugging_face(model, preprocessor, source)
    texts = ["the day is fine", "bad day?"]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    folder = kbl.convert(
        source, tmp_path / "new", form, keep_tokens=tmp_path / "texts.txt"
    )
    smaller = load(folder, form)
    tokens = preprocessor_of(smaller).tokenizer.get_vocabulary()
    assert {*tiny.VOCABULARY} - {*tokens} == {"weather", "##er", "##ing", "not"}
    whole = load(source, "keras" if run else "hugging_face")
    expected, scores = (x.predict(texts)["scores"] for x in (whole, smaller))
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    if run and form == "keras":
        assert answer_of(smaller).threshold == answer_of(whole).threshold == 0.4


def load(path, form):
    if form == "keras":
        return load_text_model(path)
    return kbl.with_text(kbl.load_model(path), kbl.load_preprocessor(path))

"""The pipeline against `predict_texts`."""

import itertools
import json
import re

import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.paths import ROOT
from tests.serving import saved_models

pytestmark = pytest.mark.tensorflow(reason="SavedModels are TensorFlow's")
beam = pytest.importorskip("apache_beam")

TEXTS = [f"The {'old ' * (i % 9)}book of number {i}." for i in range(40)]
PAGE = ROOT / "docs" / "how_to" / "embed_a_corpus_with_apache_beam.md"


@pytest.fixture(scope="module")
def embed(tmp_path_factory):
    source = "bert_mini_books"
    model = kbl.with_text(kbl.load_model(source), kbl.load_preprocessor(source))
    return kbl.export_saved_model(model, tmp_path_factory.mktemp("embed"), warmup=False)


@pytest.fixture
def kept(tmp_path):
    """Writes what a collection of answers holds, as other processes can."""
    path = tmp_path / "answers"

    def write(answers):
        lines = answers | beam.Map(
            lambda x: json.dumps(x, default=lambda y: y.tolist())
        )
        lines | beam.io.WriteToText(str(path))

    def read():
        files = sorted(path.parent.glob("answers-*"))
        return [json.loads(x) for f in files for x in f.read_text().splitlines()]

    return write, read


def predict(texts, model, batch_size=8, write=None):
    from keras_bert_lite.serving.beam import PredictTexts

    with beam.Pipeline() as pipeline:  # the DirectRunner
        answers = pipeline | beam.Create(texts) | PredictTexts(model, batch_size)
        if write is not None:
            write(answers)


def test_answers_are_those_of_predict_texts(embed, kept):
    write, read = kept
    predict(TEXTS, embed.parent, write=write)
    found = dict(read())
    expected = list(kbl.predict_texts(embed, TEXTS, progress=False))
    assert sorted(found) == sorted(TEXTS)
    for text, answer in zip(TEXTS, expected, strict=True):
        assert list(found[text]) == ["sentence_embedding"]
        np.testing.assert_allclose(
            found[text]["sentence_embedding"], answer["sentence_embedding"], atol=1e-5
        )


def test_pairs(kept, tmp_path):
    model = kbl.with_text(
        tiny.classifier(initializer_range=1.0), tiny.preprocessor(), pairs=True
    )
    path = kbl.export_saved_model(model, tmp_path / "pairs", warmup=False)
    pairs = list(zip(tiny.TEXTS, tiny.TEXTS[::-1], strict=True))
    write, read = kept
    predict(pairs, path, write=write)
    expected = kbl.predict_texts(path, pairs, progress=False)
    want = {pair: str(x["label"]) for pair, x in zip(pairs, expected, strict=True)}
    assert {tuple(pair): answer["label"] for pair, answer in read()} == want


def test_texts_of_like_length_share_a_batch(embed):
    from keras_bert_lite.serving.beam import SavedModelHandler

    handler, batches = SavedModelHandler(embed, batch_size=4), []

    def model(text):
        lengths = [len(x) for x in text]
        batches.append(lengths)
        return {"length": np.array(lengths)}

    made = list(handler.run_inference(TEXTS, model))
    assert [x.inference["length"] for x in made] == [len(x) for x in TEXTS]
    assert list(itertools.chain(*batches)) == sorted(len(x) for x in TEXTS)
    assert {len(x) for x in batches} == {4}


def test_a_model_of_an_object_store(kept, tmp_path):
    from tests import object_store

    model = saved_models.save(tmp_path / "1", saved_models.lengths)
    object_store.put(model, "memory://bucket/lengths/2")
    object_store.put(model, "memory://bucket/lengths/10")
    write, read = kept
    predict(["a", "day"], "memory://bucket/lengths", write=write)
    assert sorted(read()) == [["a", {"length": 1}], ["day", {"length": 3}]]
    with pytest.raises(ValueError, match=r"must be a SavedModel .* which holds \[\]"):
        predict([], "memory://bucket/nothing")


def test_the_version_is_chosen_once(tmp_path):
    from keras_bert_lite.serving.beam import SavedModelHandler

    saved_models.save(tmp_path / "1", saved_models.lengths)
    handler = SavedModelHandler(tmp_path)
    saved_models.save(tmp_path / "2", lambda text: {"other": text})
    answer = next(iter(handler.run_inference(["day"], handler.load_model())))
    assert answer.inference == {"length": 3}
    assert answer.model_id == str(tmp_path / "1")


def test_refuses_models_that_take_no_strings(tmp_path):
    import tensorflow as tf

    numbers = tf.TensorSpec([None], tf.float32, "x")
    model = saved_models.save(tmp_path / "1", lambda x: {"y": 2 * x}, numbers)
    with pytest.raises(ValueError, match=r"`model` must take strings.*'DT_FLOAT'"):
        predict(["a"], model)
    with pytest.raises(ValueError, match="does not exist"):
        predict(["a"], tmp_path / "none")
    with pytest.raises(ValueError, match="`batch_size` must be"):
        predict(["a"], model, batch_size=0)


def test_refuses_what_is_no_text(embed):
    with pytest.raises(TypeError, match=r"A text must be a string\. Received: 7"):
        predict(["a", 7], embed)
    with pytest.raises(ValueError, match=r"what the model takes, \['text'\]"):
        predict([("a", "b")], embed)


def test_the_page_in_several_processes(embed, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for code in re.findall(r"^```py\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.M):
        exec(compile(code, str(PAGE), "exec"), names)
    found = {x["text"]: x["embedding"] for x in names["vectors"].to_pylist()}
    expected = kbl.predict_texts(embed, list(found), progress=False)
    for vector, answer in zip(found.values(), expected, strict=True):
        np.testing.assert_allclose(vector, answer["sentence_embedding"], atol=1e-5)
    printed = capfd.readouterr().out.splitlines()
    assert printed[0] == "3 vectors"
    assert sorted(printed[-2:]) == ["17 (256,)", "18 (256,)"]

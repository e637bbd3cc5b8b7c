"""Prompts of sentence-transformers: the vectors of prompt and text."""

import json

import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.checkpoints.test_sentence_transformers import MEAN, PROMPTS, write

pytestmark = [
    pytest.mark.parity,
    pytest.mark.tensorflow(reason="strings need TensorFlow"),
]
TEXTS = [text for text in tiny.TEXTS if text] + ["DAY é weather"]


@pytest.fixture
def sentence_transformers():
    return pytest.importorskip("sentence_transformers")


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
@pytest.mark.parametrize("include_prompt", [True, False])
def test_the_default_prompt(sentence_transformers, tmp_path, pooling, include_prompt):
    source = tmp_path / "source"
    module = {
        "word_embedding_dimension": 16,
        **{f"pooling_mode_{x}_tokens": x == pooling for x in ("mean", "max")},
        "pooling_mode_cls_token": pooling == "cls",
        "include_prompt": include_prompt,
    }
    prompts = {"prompts": PROMPTS, "default_prompt_name": "query"}
    write(source, pooling=module, prompts=prompts, sentences={"max_seq_length": 24})
    switches = {"tokenizer_class": "BertTokenizer"}
    (source / "tokenizer_config.json").write_text(json.dumps(switches))
    compare(sentence_transformers, source)
    model, preprocessor = kbl.load_model(source), kbl.load_preprocessor(source)
    kbl.save_hugging_face(model, preprocessor, tmp_path / "saved")
    compare(sentence_transformers, tmp_path / "saved")


@pytest.mark.parametrize("default", [None, "query"])
def test_a_prompt_by_its_name(sentence_transformers, tmp_path, default):
    prompts = {"prompts": PROMPTS, "default_prompt_name": default}
    pooling = {**MEAN, "word_embedding_dimension": 16}
    write(tmp_path, pooling=pooling, prompts=prompts, sentences={"max_seq_length": 24})
    switches = {"tokenizer_class": "BertTokenizer"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(switches))
    reference = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu")
    preprocessor = kbl.load_preprocessor(tmp_path)
    model = kbl.with_text(kbl.load_model(tmp_path), preprocessor, prompt_name=True)
    for name in (*PROMPTS, ""):
        expected = reference.encode(TEXTS, prompt_name=name or None)
        given = {"text": TEXTS, "prompt_name": name}
        vectors = model.predict(given, verbose=0)["sentence_embedding"]
        np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-5)


def test_text_in_lower_case(sentence_transformers, tmp_path):
    sentences = {"max_seq_length": 24, "do_lower_case": True}
    pooling = {**MEAN, "word_embedding_dimension": 16}
    write(tmp_path, pooling=pooling, prompts={}, sentences=sentences)
    switches = {"tokenizer_class": "BertTokenizer", "do_lower_case": False}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(switches))
    compare(sentence_transformers, tmp_path)


def compare(sentence_transformers, source):
    reference = sentence_transformers.SentenceTransformer(str(source), device="cpu")
    expected = reference.encode(TEXTS)
    model = kbl.with_text(kbl.load_model(source), kbl.load_preprocessor(source))
    vectors = model.predict(TEXTS, verbose=0)["sentence_embedding"]
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-5)

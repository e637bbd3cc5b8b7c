"""sentence-transformers directories: pooling, prompts, lengths and lower case."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from tests import tiny
from tests.checkpoints import directories

PROMPTS = {"query": "the day: ", "document": ""}
TRANSFORMER = {"name": "0", "type": "sentence_transformers.models.Transformer"}
POOLING = {
    "name": "1",
    "type": "sentence_transformers.models.Pooling",
    "path": "1_Pooling",
}
MEAN = {"pooling_mode_mean_tokens": True}


def write(folder, body="", pooling=MEAN, prompts=None, sentences=None):
    """Writes a directory; `body` is the folder of its encoder."""
    (folder / body).mkdir(parents=True, exist_ok=True)
    directories.write(folder / body)
    lines = "\n".join(tiny.VOCABULARY)
    (folder / body / "vocab.txt").write_text(lines + "\n")
    (folder / "1_Pooling").mkdir()
    files = {
        "modules.json": [{**TRANSFORMER, "path": body}, POOLING],
        "1_Pooling/config.json": pooling,
        "config_sentence_transformers.json": prompts,
        f"{body or '.'}/sentence_bert_config.json": sentences,
    }
    for name, content in files.items():
        if content is not None:
            (folder / name).write_text(json.dumps(content))
    return folder


def vectors(model, preprocessor, texts=tiny.TEXTS):
    served = kbl.with_text(model, preprocessor)
    return served.predict(texts, verbose=0)["sentence_embedding"]


@pytest.fixture(scope="module")
def prompted(tmp_path_factory):
    prompts = {"prompts": PROMPTS, "default_prompt_name": "query"}
    return write(tmp_path_factory.mktemp("prompted"), prompts=prompts)


@pytest.mark.tensorflow(reason="strings need TensorFlow")
class TestPrompts:
    def test_every_text_begins_with_the_default(self, prompted, tmp_path):
        model = kbl.load_model(prompted)
        preprocessor = kbl.load_preprocessor(prompted)
        assert preprocessor.prompt == "the day: "
        plain = kbl.load_preprocessor(prompted, default_prompt_name=None)
        assert plain.prompts == PROMPTS
        written = ["the day: " + text for text in tiny.TEXTS]
        expected = vectors(model, plain, written)
        assert np.abs(expected - vectors(model, plain)).max() > 1e-3
        np.testing.assert_array_equal(vectors(model, preprocessor), expected)
        served = kbl.with_text(model, preprocessor)
        served.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
        answers = loaded.predict(tiny.TEXTS, verbose=0)["sentence_embedding"]
        np.testing.assert_allclose(answers, expected, atol=1e-6)
        exported = kbl.export_saved_model(served, tmp_path / "exported", warmup=False)
        signatures = tf.saved_model.load(str(exported)).signatures
        answers = signatures["serving_default"](text=tf.constant(tiny.TEXTS))
        np.testing.assert_allclose(answers["sentence_embedding"], expected, atol=1e-6)
        kbl.save_hugging_face(model, preprocessor, tmp_path / "saved")
        again = kbl.load_preprocessor(tmp_path / "saved")
        assert (again.prompts, again.default_prompt_name) == (PROMPTS, "query")
        found = vectors(kbl.load_model(tmp_path / "saved"), again)
        np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_a_prompt_outside_the_pooling(self, tmp_path):
        source = write(
            tmp_path / "in",
            pooling={**MEAN, "include_prompt": False},
            prompts={"prompts": PROMPTS, "default_prompt_name": "query"},
        )
        model, preprocessor = kbl.load_model(source), kbl.load_preprocessor(source)
        skipped = preprocessor.prompt_length
        assert skipped == 4  # [CLS] the day [UNK]
        ids = preprocessor(tiny.TEXTS)
        tokens = kbl.load_encoder(source)(ids)["sequence_output"][:, skipped:]
        mask = ids["padding_mask"][:, skipped:, None]
        mask = keras.ops.cast(mask, "float32")
        mean = keras.ops.sum(tokens * mask, 1) / keras.ops.sum(mask, 1)
        np.testing.assert_allclose(vectors(model, preprocessor), mean, atol=1e-6)
        kbl.save_hugging_face(model, preprocessor, tmp_path / "saved")
        again = kbl.load_model(tmp_path / "saved")
        np.testing.assert_allclose(vectors(again, preprocessor), mean, atol=1e-6)
        other = kbl.load_preprocessor(source, default_prompt_name="document")
        with pytest.raises(ValueError, match="leaves the 4 tokens of a prompt out"):
            kbl.with_text(model, other)
        with pytest.raises(ValueError, match="must have the default prompt of 4"):
            kbl.save_hugging_face(model, other, tmp_path / "other")

    def test_what_cannot_read_one_refuses_it(self, prompted, tmp_path):
        preprocessor = kbl.load_preprocessor(prompted)
        message = r"`default_prompt_name=None`. Received: .*'query'"
        with pytest.raises(ValueError, match=message):
            kbl.save_hugging_face(tiny.classifier(), preprocessor, tmp_path / "out")
        model = kbl.with_text(tiny.classifier(), preprocessor)
        with pytest.raises(ValueError, match=message):
            kbl.explain(model, "a day")

    @pytest.mark.parametrize(
        ("prompts", "message"),
        [
            ({"default_prompt_name": "query"}, "`default_prompt_name` must be one of"),
            ({"prompts": ["a"]}, "`prompts` must map names to texts"),
            ({"prompts": {"a": 1}}, "`prompts` must map names to texts"),
            ({"model_type": "SparseEncoder"}, "`model_type` must be"),
        ],
    )
    def test_damaged_ones_are_refused(self, tmp_path, prompts, message):
        source = write(tmp_path, prompts=prompts)
        with pytest.raises(ValueError, match=f"config_sentence_.*{message}"):
            kbl.load_preprocessor(source)


def test_the_encoder_may_have_a_folder(tmp_path):
    source = write(tmp_path, "0_Transformer", sentences={"max_seq_length": 7})
    assert kbl.load_preprocessor(source).sequence_length == 7
    assert kbl.load_tokenizer(source).vocabulary_size() == len(tiny.VOCABULARY)
    assert sorted(kbl.load_encoder(source).output) == [
        "pooled_output",
        "sequence_output",
    ]
    assert kbl.load_model(source).name == "sentence_encoder"


def test_an_older_name_of_the_length(tmp_path):
    write(tmp_path)
    (tmp_path / "sentence_roberta_config.json").write_text('{"max_seq_length": 9}')
    assert kbl.load_preprocessor(tmp_path).sequence_length == 9


def test_text_in_lower_case(tmp_path):
    source = write(tmp_path, sentences={"do_lower_case": True})
    switches = {"do_lower_case": False}
    (source / "tokenizer_config.json").write_text(json.dumps(switches))
    tokenizer = kbl.load_preprocessor(source).tokenizer
    assert (tokenizer.lowercase, tokenizer.strip_accents) == (True, False)
    assert kbl.load_tokenizer(source).lowercase
    (source / "sentence_bert_config.json").write_text('{"do_lower_case": "yes"}')
    with pytest.raises(ValueError, match="`do_lower_case` must be true or false"):
        kbl.load_tokenizer(source)


@pytest.mark.parametrize(
    ("pooling", "message"),
    [
        ({"pooling_mode": ["cls", "median"]}, r"must be one of .*\['cls', 'median'\]"),
        ({"pooling_mode": "median"}, "must be one of .*'median'"),
        ({}, "must be one of .*None"),
        ({"pooling_mode_mean_tokens": "yes"}, "must be true or false"),
        ({**MEAN, "include_prompt": 1}, "`include_prompt` must be true or false"),
    ],
)
def test_poolings_that_are_refused(tmp_path, pooling, message):
    write(tmp_path, pooling=pooling)
    with pytest.raises(ValueError, match=f"1_Pooling/config.json.*{message}"):
        kbl.load_model(tmp_path)


@pytest.mark.parametrize("mode", ["max", ["max"]])
def test_the_newer_field_of_the_pooling_decides(tmp_path, mode):
    write(tmp_path, pooling={**MEAN, "pooling_mode": mode})
    assert kbl.load_model(tmp_path).get_layer("pooling").pooling == "max"

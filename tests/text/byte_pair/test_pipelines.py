"""ModernBERT's and EuroBERT's byte-level BPE against golden ids."""

import functools
import json
import random

import keras
import numpy as np
import pytest
import tensorflow as tf
import tokenizers

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.tokenizers import byte_pair as byte_pair_files
from keras_bert_lite.text.added_tokens import FLAGS
from keras_bert_lite.text.byte_pair.patterns import LLAMA3
from tests import paths, tiny
from tests.golden.make_byte_pair_pipelines import PIPELINE_TEXTS, reference
from tests.text.byte_pair.pipelines import CONFIGS
from tests.text.byte_pair.test_tokenizer import TEXT_OPS
from tests.text.token_samples import byte_pair

GOLDEN = paths.GOLDEN / "byte_pair_pipelines.json"


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def loader(golden, name, directory):
    """The golden values of a pipeline, and a function that loads its tokenizer."""
    values = golden["pipelines"][name]
    (directory / "tokenizer.json").write_text(json.dumps(values["content"]))
    (directory / "tokenizer_config.json").write_text(json.dumps(CONFIGS[name]))

    @functools.cache
    def load(special_tokens_in_text=False):
        switch = {"special_tokens_in_text": special_tokens_in_text}
        return kbl.load_tokenizer(directory, **switch)

    return values, load, directory


@pytest.fixture(scope="module", params=CONFIGS)
def pipeline(request, golden, tmp_path_factory):
    return loader(golden, request.param, tmp_path_factory.mktemp(request.param))


def check(tokenizer, texts, rows):
    outputs = tokenizer.tokenize_with_offsets(texts)
    for values, name in zip(outputs, ("ids", "starts", "ends"), strict=True):
        assert values.to_list() == [row[name] for row in rows]
    assert tokenizer(texts).to_list() == outputs[0].to_list()


def rows_of(encodings):
    return [
        {
            "ids": x.ids,
            "starts": [start for start, _ in x.offsets],
            "ends": [end for _, end in x.offsets],
        }
        for x in encodings
    ]


class TestGolden:
    def test_golden_file_is_up_to_date(self, golden):
        assert golden["texts"] == PIPELINE_TEXTS

    @pytest.mark.parametrize("in_text", [False, True])
    def test_ids_and_offsets(self, pipeline, in_text):
        values, load, _ = pipeline
        key = "special_tokens" if in_text else "plain"
        check(load(in_text), PIPELINE_TEXTS, values["rows"][key])

    def test_one_string_at_a_time(self, pipeline):
        values, load, _ = pipeline
        rows = values["rows"]["special_tokens"]
        for text, row in list(zip(PIPELINE_TEXTS, rows, strict=True))[::-7]:
            outputs = load(True).tokenize_with_offsets(text)
            assert [x.numpy().tolist() for x in outputs] == list(row.values())

    def test_special_tokens_around_texts(self, pipeline):
        values, _, directory = pipeline
        preprocessor = kbl.load_preprocessor(directory)
        assert preprocessor.num_separators == 1
        ids = preprocessor(("the  cafe", "don't"))["token_ids"]
        assert ids.numpy().tolist() == values["pair"]

    def test_detokenize(self, pipeline):
        values, load, _ = pipeline
        tokenizer = load(True)
        ids = [
            [tokenizer.cls_id, *row["ids"], tokenizer.sep_id]
            for row in values["rows"]["special_tokens"]
        ]
        ragged = tf.ragged.constant(ids, dtype=tf.int32)
        texts = tokenizer.detokenize(ragged, skip_special_tokens=False).numpy()
        assert [x.decode() for x in texts] == values["decoded"]


class TestForms:
    def test_blank(self, pipeline):
        for output in pipeline[1](True).tokenize_with_offsets(["", ""]):
            assert output.to_list() == [[], []]
        for output in pipeline[1](True).tokenize_with_offsets([]):
            assert output.to_list() == []

    def test_graph_and_large_batches(self, pipeline):
        values, load, _ = pipeline
        signature = [tf.TensorSpec([None], tf.string)]
        run = tf.function(load(True), input_signature=signature)
        expected = [row["ids"] for row in values["rows"]["special_tokens"]]
        assert run(tf.constant(PIPELINE_TEXTS)).to_list() == expected
        assert run(tf.constant(PIPELINE_TEXTS * 5)).to_list() == expected * 5
        assert run(tf.constant([], tf.string)).to_list() == []

    def test_config(self, pipeline):
        tokenizer = pipeline[1](True)
        config = json.loads(json.dumps(keras.saving.serialize_keras_object(tokenizer)))
        restored = keras.saving.deserialize_keras_object(config)
        assert restored.get_config() == tokenizer.get_config()
        texts = PIPELINE_TEXTS[-12:]
        assert restored(texts).to_list() == tokenizer(texts).to_list()

    def test_ops_are_in_stock_tf_serving(self, pipeline):
        tokenizer = pipeline[1](True)
        text = tf.TensorSpec([None], tf.string)
        function = tf.function(tokenizer.tokenize_with_offsets)
        definition = function.get_concrete_function(text).graph.as_graph_def()
        functions = definition.library.function
        nodes = [*definition.node, *(n for f in functions for n in f.node_def)]
        ops = {n.op for n in nodes} - {f.signature.name for f in functions}
        foreign = {op.removeprefix("TFText>") for op in ops - set(dir(tf.raw_ops))}
        assert foreign == TEXT_OPS.union(
            ["NormalizeUTF8"] * len(tokenizer.normalization)
        )
        assert not [op for op in ops if "While" in op or "PyFunc" in op]

    def test_export(self, golden, tmp_path):
        if keras.backend.backend() != "tensorflow":
            pytest.skip("text layers are parts of models under TensorFlow only")
        tokenizer = loader(golden, "modernbert", tmp_path)[1](True)
        size = tokenizer.vocabulary_size()
        config = tiny.config(vocabulary_size=size, max_sequence_length=32)
        classifier = kbl.text_classifier(kbl.encoder(config), ["bad", "fine"])
        preprocessor = kbl.Preprocessor(tokenizer, 32)
        model = kbl.with_text(classifier, preprocessor)
        path = kbl.export_saved_model(model, tmp_path / "out", warmup=False)
        report = kbl.check_servable(path)
        assert report.ok, str(report)
        assert "2.12.1" in report.versions
        serve = tf.saved_model.load(str(path)).signatures["tokenize"]
        outputs = serve(text=tf.constant(PIPELINE_TEXTS))
        for name, value in preprocessor(PIPELINE_TEXTS).items():
            np.testing.assert_array_equal(outputs[name], value)


class TestLongTexts:
    """8,192 tokens and more."""

    TEXT = "the cafe\u0301's  goers don't go\n" * 4_000

    def test_one_row(self, pipeline):
        values, _, directory = pipeline
        preprocessor = kbl.load_preprocessor(directory, sequence_length=8_192)
        theirs = reference(values["content"], False)
        theirs.enable_truncation(8_192)
        expected = theirs.encode(self.TEXT).ids
        assert len(expected) == 8_192
        assert preprocessor(self.TEXT)["token_ids"].numpy().tolist() == expected

    def test_windows(self, pipeline):
        values, _, directory = pipeline
        switches = {"sequence_length": 8_192, "stride": 256}
        preprocessor = kbl.load_preprocessor(directory, **switches)
        theirs = reference(values["content"], False)
        theirs.enable_truncation(8_192, stride=256)
        first = theirs.encode(self.TEXT)
        expected = [x.ids for x in (first, *first.overflowing)]
        outputs = preprocessor(self.TEXT)
        rows = tf.ragged.boolean_mask(outputs["token_ids"], outputs["padding_mask"])
        assert len(expected) > 2
        assert rows.to_list() == expected


class TestFlags:
    """Added tokens with flags, in random strings."""

    TOKENS = ("[E1]", "abc", "bcde", "fine", "e.f", "東京", "weather")
    PARTS = (*TOKENS, "[MASK]", " ", "  ", "\t", "\n", "\u3000", "e\u0301", "_", "x")

    @pytest.mark.parametrize("seed", [8, 11, 13, 14])
    def test_all(self, seed, tmp_path):
        rng = random.Random(seed)
        flags = {
            token: rng.sample(FLAGS, rng.randrange(4))
            for token in (*self.TOKENS, "[MASK]")
        }
        tokenizer = byte_pair(
            added_tokens=self.TOKENS[1:6],
            additional_special_tokens=["[E1]", "weather"],
            token_flags=flags,
            special_tokens_in_text=True,
            normalization=["nfc"],
            trim_offsets=bool(seed % 2),
        )
        byte_pair_files.write(tokenizer, tmp_path)
        theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        texts = ["".join(rng.choices(self.PARTS, k=9)) for _ in range(300)]
        expected = theirs.encode_batch(texts, add_special_tokens=False)
        check(tokenizer, texts, rows_of(expected))

    def test_normalized_tokens_are_found_in_normalized_text(self):
        switches = {"normalization": ["nfc"], "added_tokens": ["東京", "caf\u00e9"]}
        pieces = [*byte_pair().get_vocabulary(), "caf\u00e9"]
        config = {**byte_pair().get_config(), **switches, "vocabulary": pieces}
        text = "cafe\u0301 caf\u00e9"
        counts = []
        for flags in ([], ["normalized"]):
            flagged = {**config, "token_flags": {"caf\u00e9": flags}}
            ids = kbl.BytePairTokenizer(**flagged)(text).numpy().tolist()
            counts.append(ids.count(len(pieces) - 1))
        assert counts == [1, 2]


@pytest.mark.parametrize(
    ("piece", "found"), [("Ġ" * 130, True), ("_" * 90, False), ("æĹ¥" * 70, False)]
)
def test_long_pieces_that_no_merges_form(piece, found):
    base = byte_pair().get_config()
    changes = {"vocabulary": [*base["vocabulary"], piece], "split_pattern": LLAMA3}
    config = {**base, **changes, "ignore_merges": True}
    if found:
        text = piece.replace("Ġ", " ")
        expected = [len(base["vocabulary"])]
        assert kbl.BytePairTokenizer(**config)(text).numpy().tolist() == expected
    else:
        with pytest.raises(ValueError, match="`ignore_merges` is possible only if"):
            kbl.BytePairTokenizer(**config)


class TestErrors:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"normalization": ["nfkc"]}, r"`normalization` must .*\['nfkc'\]"),
            ({"split_pattern": r"\w+"}, r"`split_pattern` must be one of .*w\+"),
            (
                {"split_pattern": LLAMA3, "add_prefix_space": True},
                "`add_prefix_space` must be false with another `split_pattern`",
            ),
        ],
    )
    def test_refused(self, changes, message):
        with pytest.raises(ValueError, match=message):
            byte_pair(**changes)

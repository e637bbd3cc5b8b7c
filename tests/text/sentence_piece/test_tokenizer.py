"""SentencePieceTokenizer against golden ids, in every form strings come in."""

import functools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from tests import fresh_process, paths, tiny
from tests.text.hard_strings import HARD_STRINGS
from tests.text.sentence_piece.samples import SCORES, VOCABULARY

GOLDEN = paths.GOLDEN / "sentence_piece.json"
SETTINGS = ["albert", "plain", "special_tokens", "deberta", "punctuation"]
ARGUMENTS = {
    "albert": {
        "normalization": ["quotes", "strip_accents", "lowercase"],
        "added_tokens": ["."],
    },
    "plain": {},
    "special_tokens": {"special_tokens_in_text": True},
    "deberta": {
        "normalization": ["collapse_white_space", "nfc", "strip_right"],
        "split_white_space": False,
    },
    "punctuation": {
        "normalization": ["lowercase", "strip", "collapse_spaces"],
        "split_white_space": False,
        "split_punctuation": True,
    },
}


@functools.cache
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


@functools.cache
def make(setting):
    pieces, scores = zip(*golden()["pieces"], strict=True)
    mask = [] if "[MASK]" in pieces else ["[MASK]"]
    return SentencePieceTokenizer([*pieces, *mask], scores, **ARGUMENTS[setting])


def rows(setting, output=0):
    return [row[output] for row in golden()["settings"][setting]]


@pytest.fixture
def tokenizer():
    return make("albert")


@pytest.fixture(scope="module")
def texts():
    return golden()["texts"]


class TestGolden:
    def test_has_the_hard_strings(self, texts):
        assert set(HARD_STRINGS) <= set(texts)

    @pytest.mark.parametrize("setting", SETTINGS)
    def test_ids(self, setting, texts):
        ids = make(setting)(texts)
        assert ids.dtype == tf.int32
        assert ids.to_list() == rows(setting)

    @pytest.mark.parametrize("setting", SETTINGS)
    @pytest.mark.parametrize(
        ("output", "name"), list(enumerate(["ids", "starts", "ends"]))
    )
    def test_offsets(self, setting, texts, output, name):
        values = make(setting).tokenize_with_offsets(texts)[output]
        assert values.dtype == tf.int32
        assert values.to_list() == rows(setting, output)

    @pytest.mark.parametrize("setting", SETTINGS)
    def test_in_a_graph(self, setting, texts):
        run = tf.function(
            make(setting), input_signature=[tf.TensorSpec([None], tf.string)]
        )
        assert run(tf.constant(texts)).to_list() == rows(setting)
        assert run(tf.constant([], tf.string)).to_list() == []

    @pytest.mark.usefixtures("all_shards")
    def test_large_batches(self, texts):
        assert len(texts) * 5 >= 512
        ids = tf.function(make("deberta"))(tf.constant(texts * 5))
        assert ids.to_list() == rows("deberta") * 5


class TestForms:
    def test_scalar_and_ranks(self, tokenizer, texts):
        assert tokenizer(texts[0]).numpy().tolist() == rows("albert")[0]
        array = np.array(texts[:12], object).reshape(2, 3, 2)
        ids = tokenizer(array)
        assert ids.shape.as_list() == [2, 3, 2, None]
        assert ids[0, 0, 1].numpy().tolist() == rows("albert")[1]

    def test_blank_and_empty(self, tokenizer):
        assert tokenizer([]).to_list() == []
        for output in tokenizer.tokenize_with_offsets(["", " ", "\t\n"]):
            assert output.to_list() == [[], [], []]
        for output in tokenizer.tokenize_with_offsets([]):
            assert output.to_list() == []

    def test_dataset_map(self, tokenizer, texts):
        dataset = tf.data.Dataset.from_tensor_slices(texts).batch(64).map(tokenizer)
        assert [x for batch in dataset for x in batch.to_list()] == rows("albert")

    def test_invalid_bytes_are_skipped(self, tokenizer, texts):
        raw = [b"\xff" + text.encode() + b"\xe3\x81" for text in texts]
        assert tokenizer(raw).to_list() == rows("albert")

    def test_refuses_numbers(self, tokenizer):
        with pytest.raises(TypeError, match="`text` must be strings"):
            tokenizer([1, 2])

    def test_many_characters_in_a_row(self, tokenizer):
        texts = ["ka" * n for n in (100, 1000, 5000)]
        ids = tokenizer(texts)
        joined = tokenizer.detokenize(ids).numpy().tolist()
        assert [x.decode() for x in joined] == texts


class TestDetokenize:
    def test_spaces_stand_for_metaspaces(self):
        tokenizer = SentencePieceTokenizer(VOCABULARY, SCORES)
        texts = ["a fine a", "", "a"]
        joined = tokenizer.detokenize(tokenizer(texts)).numpy().tolist()
        assert [x.decode() for x in joined] == texts

    def test_special_tokens(self):
        tokenizer = SentencePieceTokenizer(VOCABULARY, SCORES)
        ids = [2, 5, 1, 3]
        assert tokenizer.detokenize(ids).numpy() == b"a"
        kept = tokenizer.detokenize([ids], skip_special_tokens=False).numpy()
        assert kept.tolist() == [b"[CLS] a<unk>[SEP]"]

    def test_refuses_ids_out_of_range(self, tokenizer):
        with pytest.raises(ValueError, match="`ids` must"):
            tokenizer.detokenize([10**6])


class TestArguments:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"scores": [0.0] * 9}, "`scores` must be as many"),
            ({"scores": []}, "`scores` must be as many"),
            ({"scores": [float("nan")] * 8}, "`scores` must be finite"),
            ({"scores": SCORES[:4]}, "must have the piece '▁'"),
            ({"normalization": ["nfkd"]}, "`normalization` must be made of"),
            ({"normalization": ["charsmap"]}, "`charsmap` and the step"),
            ({"charsmap": "no base 64!"}, "`charsmap` must be bytes, or base64"),
            (
                {"charsmap": b"abcdefgh", "normalization": ["charsmap"]},
                "`charsmap` must be a `precompiled_charsmap`",
            ),
            ({"added_tokens": ["x"]}, "`added_tokens` must be pieces"),
            ({"unknown_token": "x"}, "must contain the unknown token 'x'"),
        ],
    )
    def test_refused(self, changes, message):
        arguments = {"vocabulary": VOCABULARY, "scores": SCORES, **changes}
        with pytest.raises(ValueError, match=message):
            SentencePieceTokenizer(**arguments)

    def test_example_of_the_docstring(self):
        tokenizer = SentencePieceTokenizer(VOCABULARY, SCORES, ["lowercase"])
        ids = tokenizer(["A fine fin", "fig"])
        assert ids.to_list() == [[5, 4, 6, 7, 4, 6], [4, 1]]

    @pytest.mark.parametrize("setting", SETTINGS)
    def test_config(self, setting, texts):
        config = make(setting).get_config()
        again = SentencePieceTokenizer.from_config(json.loads(json.dumps(config)))
        assert again.get_config() == config
        assert again(texts).to_list() == rows(setting)


@pytest.fixture(scope="module")
def model():
    tokenizer = make("deberta")
    classifier = tiny.classifier(vocabulary_size=tokenizer.vocabulary_size())
    return kbl.with_text(classifier, kbl.Preprocessor(tokenizer, 16))


class TestModels:
    def test_keras_file_and_clone(self, model, texts, tmp_path):
        batch = tf.constant(texts[:30])
        expected = probabilities(model, batch)
        model.save(tmp_path / "model.keras")
        restored = keras.saving.load_model(tmp_path / "model.keras")
        np.testing.assert_array_equal(probabilities(restored, batch), expected)
        clone = keras.models.clone_model(model)
        clone.set_weights(model.get_weights())
        np.testing.assert_array_equal(probabilities(clone, batch), expected)

    def test_in_a_fresh_process(self, model, texts, tmp_path):
        model.save(tmp_path / "model.keras")
        batch = np.array(texts[:9], object)
        outputs = fresh_process.call_saved(tmp_path / "model.keras", batch)
        for output, expected in zip(
            outputs, keras.tree.flatten(model(tf.constant(texts[:9]))), strict=True
        ):
            if expected.dtype != tf.string:
                np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)

    def test_saved_model(self, model, texts, tmp_path):
        path = kbl.export_saved_model(model, tmp_path / "saved", warmup=False)
        report = kbl.check_servable(path)
        assert report.ok, report
        assert {"FastBertNormalize", "TFText>FastSentencepieceTokenize"} <= set(
            report.ops
        )
        serve = tf.saved_model.load(str(path)).signatures["serving_default"]
        outputs = serve(text=tf.constant(texts[:30]))
        expected = model(tf.constant(texts[:30]))
        for name, value in expected.items():
            if value.dtype != tf.string:
                np.testing.assert_allclose(outputs[name], value, rtol=1e-5, atol=1e-6)


def probabilities(model, batch):
    outputs = keras.tree.flatten(model(batch))
    return next(x.numpy() for x in outputs if x.dtype == tf.float32)


def test_fewer_pieces_leave_the_score_of_unknown_characters():
    """It follows from the lowest score; else "x" would be unknown, before "yza"."""
    scores = {"▁": -2, "xy": -8, "z": -8, "a": -8, "yza": -1, "low": -30, "more": -9}
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]"]
    whole = SentencePieceTokenizer(
        [*special, *scores, "[NEW]"],
        [0.0] * len(special) + [float(x) for x in scores.values()],
        added_tokens=["[NEW]"],
    )
    smaller, ids = whole.with_only(["xy", "yza"])
    assert {*whole.get_vocabulary()} - {*smaller.get_vocabulary()} == {"more"}
    for text in ("xyza", "[NEW] xyza"):
        assert [ids[i] for i in smaller(text).numpy()] == whole(text).numpy().tolist()

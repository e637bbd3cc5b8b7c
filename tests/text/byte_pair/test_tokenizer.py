"""BytePairTokenizer against golden ids, and in the forms it travels in."""

import functools
import json
import random

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.text.byte_pair.tokenizer import BytePairTokenizer
from tests import paths, tiny
from tests.golden.make_byte_pair_golden import SETTINGS, TEXTS

GOLDEN = paths.GOLDEN / "byte_pair.json"
TEXT_OPS = {
    "FastBertNormalize",
    "FastWordpieceTokenizeWithOffsets",
    "ByteSplitByOffsets",
    "SentencepieceOp",
    "SentencepieceTokenizeOp",
}


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def make_tokenizer(golden):
    @functools.cache
    def make(setting):
        switches = golden["settings"][setting]["switches"]
        return BytePairTokenizer(golden["vocabulary"], golden["merges"], **switches)

    return make


@pytest.fixture(scope="module")
def tokenizer(make_tokenizer):
    return make_tokenizer("plain")


@pytest.fixture(scope="module")
def string_model(tokenizer):
    config = tiny.config(
        vocabulary_size=tokenizer.vocabulary_size(), max_sequence_length=32
    )
    classifier = kbl.text_classifier(kbl.encoder(config), ["bad", "fine"])
    return kbl.with_text(classifier, kbl.Preprocessor(tokenizer, 32))


def golden_rows(golden, setting, name):
    return [row[name] for row in golden["settings"][setting]["rows"]]


class TestGolden:
    def test_golden_file_is_up_to_date(self, golden):
        assert golden["texts"] == TEXTS
        assert {k: v["switches"] for k, v in golden["settings"].items()} == SETTINGS

    @pytest.mark.parametrize("setting", SETTINGS)
    def test_ids_and_offsets(self, golden, make_tokenizer, setting):
        tokenizer = make_tokenizer(setting)
        outputs = tokenizer.tokenize_with_offsets(golden["texts"])
        for values, name in zip(outputs, ("ids", "starts", "ends"), strict=True):
            assert values.dtype == tf.int32
            assert values.to_list() == golden_rows(golden, setting, name)
        assert tokenizer(golden["texts"]).to_list() == outputs[0].to_list()

    def test_one_string_at_a_time(self, golden, make_tokenizer):
        tokenizer = make_tokenizer("special_tokens_prefix")
        rows = golden["settings"]["special_tokens_prefix"]["rows"]
        for text, row in list(zip(golden["texts"], rows, strict=True))[::-6]:
            outputs = tokenizer.tokenize_with_offsets(text)
            assert [x.numpy().tolist() for x in outputs] == list(row.values())

    def test_detokenize(self, golden, tokenizer):
        count = tokenizer.vocabulary_size()
        pairs = [[i, count - 1 - i] for i in range(count)]
        texts = tokenizer.detokenize(pairs, skip_special_tokens=False).numpy()
        assert [x.decode() for x in texts] == golden["decoded"]


class TestForms:
    @pytest.mark.parametrize("setting", ["plain", "special_tokens_prefix"])
    def test_eager_and_graph_agree(self, golden, make_tokenizer, setting):
        tokenizer = make_tokenizer(setting)
        run = tf.function(tokenizer, input_signature=[tf.TensorSpec([None], tf.string)])
        expected = golden_rows(golden, setting, "ids")
        assert run(tf.constant(golden["texts"])).to_list() == expected
        assert run(tf.constant([], tf.string)).to_list() == []

    @pytest.mark.usefixtures("all_shards")
    def test_large_batches(self, golden, tokenizer):
        texts = golden["texts"] * 5
        assert len(texts) > 512
        ids = tf.function(tokenizer)(tf.constant(texts))
        assert ids.to_list() == golden_rows(golden, "plain", "ids") * 5

    def test_dataset_map(self, golden, tokenizer):
        dataset = tf.data.Dataset.from_tensor_slices(golden["texts"])
        batches = dataset.batch(20).map(tokenizer)
        rows = [row for batch in batches for row in batch.to_list()]
        assert rows == golden_rows(golden, "plain", "ids")

    def test_shapes(self, tokenizer):
        the = tokenizer("the").numpy().tolist()
        assert tokenizer([["the"], ["the"]]).to_list() == [[the], [the]]
        assert tokenizer([["the", ""], []]).to_list() == [[the, []], []]
        assert tokenizer(tf.constant([], tf.string)).to_list() == []

    @pytest.mark.parametrize("setting", SETTINGS)
    def test_blank(self, make_tokenizer, setting):
        tokenizer = make_tokenizer(setting)
        for output in tokenizer.tokenize_with_offsets(["", ""]):
            assert output.to_list() == [[], []]
        for output in tokenizer.tokenize_with_offsets([]):
            assert output.to_list() == []

    def test_invalid_bytes_are_skipped(self, tokenizer):
        rng = random.Random(0)
        parts = [b"a", b" ", b"\xff", b"\xe6\x97", b"\xed\xa0\x80", "日é".encode()]
        raw = [b"".join(rng.choices(parts, k=rng.randrange(9))) for _ in range(500)]
        expected = tokenizer([x.decode("utf-8", "ignore") for x in raw])
        assert tokenizer(raw).to_list() == expected.to_list()

    @pytest.mark.parametrize("text", ["a", "=", "ab", "日", " ", "'s", "é", "\0"])
    def test_long_words(self, tokenizer, text):
        ids = tokenizer(text * 4001)
        assert tokenizer.detokenize(ids).numpy().decode() == text * 4001


class TestDetokenize:
    def test_is_the_inverse(self, golden, tokenizer):
        joined = tokenizer.detokenize(tokenizer(golden["texts"])).numpy()
        assert [x.decode() for x in joined] == golden["texts"]

    def test_special_tokens(self, tokenizer):
        ids = [0, *tokenizer("the").numpy().tolist(), 3, 2, 1]
        assert tokenizer.detokenize(ids).numpy() == b"the"
        kept = tokenizer.detokenize([ids], skip_special_tokens=False).numpy()
        assert kept.tolist() == [b"<s>the<unk></s><pad>"]

    def test_partial_characters(self, tokenizer):
        ids = [tokenizer.token_to_id(x) for x in ("æ", "Ĺ", "a", "Ĺ", "ÿ")]
        text = tokenizer.detokenize(ids).numpy().decode()
        assert text == "\ufffda\ufffd\ufffd"
        assert tokenizer.detokenize([]).numpy() == b""


def assert_same(model, other, texts):
    expected, outputs = model(texts), other(texts)
    for name, value in expected.items():
        np.testing.assert_array_equal(outputs[name], value)


def test_pieces_that_continue_a_word(golden):
    tokenizer = BytePairTokenizer(golden["vocabulary"], golden["merges"])
    found = dict(
        zip(tokenizer.get_vocabulary(), tokenizer.continuations(), strict=True)
    )
    begins = [piece for piece, continues in found.items() if not continues]
    assert begins
    assert all(piece.startswith("\u0120") for piece in begins)
    assert found["a"]


class TestSaving:
    def test_config(self, golden):
        arguments = {
            "add_prefix_space": True,
            "trim_offsets": False,
            "special_tokens_in_text": True,
            "name": "tokens",
        }
        tokenizer = BytePairTokenizer(
            golden["vocabulary"], golden["merges"], **arguments
        )
        config = tokenizer.get_config()
        assert config.items() >= arguments.items()
        assert config["merges"] == tokenizer.get_merges() == golden["merges"]
        restored = keras.saving.deserialize_keras_object(
            json.loads(json.dumps(keras.saving.serialize_keras_object(tokenizer)))
        )
        assert restored.get_config() == config
        assert restored(TEXTS).to_list() == tokenizer(TEXTS).to_list()

    def test_keras_file_and_clone(self, string_model, tmp_path):
        string_model.save(tmp_path / "model.keras")
        restored = keras.saving.load_model(tmp_path / "model.keras")
        assert_same(string_model, restored, tf.constant(TEXTS))
        clone = keras.models.clone_model(string_model)
        clone.set_weights(string_model.get_weights())
        assert_same(string_model, clone, tf.constant(TEXTS))

    def test_export(self, string_model, tokenizer, tmp_path):
        path = kbl.export_saved_model(string_model, tmp_path, warmup=False)
        report = kbl.check_servable(path)
        assert report.ok, str(report)
        assert "2.12.1" in report.versions
        handles = [x for x in report.ops if x == "SentencepieceOp"]
        assert len(handles) == 1
        serve = tf.saved_model.load(str(path)).signatures["tokenize"]
        expected = kbl.Preprocessor(tokenizer, 32)(TEXTS)
        outputs = serve(text=tf.constant(TEXTS))
        for name, value in expected.items():
            np.testing.assert_array_equal(outputs[name], value)

    def test_ops_are_in_stock_tf_serving(self, make_tokenizer):
        tokenizer = make_tokenizer("special_tokens_prefix")
        text = tf.TensorSpec([None], tf.string)
        core = set(dir(tf.raw_ops))
        for function in (
            tokenizer.tokenize_with_offsets,
            lambda text: tokenizer.detokenize(tokenizer(text)),
        ):
            graph = tf.function(function).get_concrete_function(text).graph
            definition = graph.as_graph_def()
            functions = definition.library.function
            nodes = [*definition.node, *(n for f in functions for n in f.node_def)]
            ops = {n.op for n in nodes} - {f.signature.name for f in functions}
            foreign = {op.removeprefix("TFText>") for op in ops if op not in core}
            assert foreign == TEXT_OPS
            assert not [op for op in ops if "While" in op or "PyFunc" in op]

    def test_from_files(self, golden, tokenizer, tmp_path):
        ids = {piece: i for i, piece in enumerate(golden["vocabulary"])}
        (tmp_path / "vocab.json").write_text(json.dumps(ids))
        for head, ending in (("#version: 0.2\n", "\n"), ("", "\r\n")):
            text = head + "".join(x + ending for x in golden["merges"])
            (tmp_path / "merges.txt").write_bytes(text.encode())
            read = BytePairTokenizer(tmp_path / "vocab.json", tmp_path / "merges.txt")
            assert read.get_config()["merges"] == golden["merges"]
            assert read.get_vocabulary() == golden["vocabulary"]


class TestMerges:
    """Vocabularies that no training would give."""

    @pytest.fixture
    def base(self, golden):
        return [x for x in golden["vocabulary"] if len(x) == 1 or x[0] == "<"]

    def check(self, pieces, merges, seed=0, letters="abcd "):
        reference = pytest.importorskip("tests.golden.make_byte_pair_golden").reference
        rng = random.Random(seed)
        lengths = [rng.randrange(12) for _ in range(400)]
        texts = ["".join(rng.choices(letters, k=length)) for length in lengths]
        expected = [
            x.ids
            for x in reference(pieces, merges).encode_batch(
                texts, add_special_tokens=False
            )
        ]
        assert BytePairTokenizer(pieces, merges)(texts).to_list() == expected

    @pytest.mark.parametrize(
        "merges",
        [
            [],
            ["a a"],
            ["a a", "aa a", "aa aa", "a aaa"],
            ["b c", "a b", "ab c", "abc d"],  # the last two never happen
            ["a b", "ab c", "c d", "b cd", "a bc"],
            ["b c", "a bc", "a b", "ab c"],
            ["ab c", "a b"],
            ["a aa", "a a", "c aaa", "aa a", "b c"],
        ],
    )
    def test_of_odd_orders(self, base, merges):
        results = [merge.replace(" ", "") for merge in merges]
        parts = [part for merge in merges for part in merge.split(" ")]
        pieces = list(dict.fromkeys([*base, *results, *parts]))
        self.check(pieces, merges)

    @pytest.mark.parametrize("seed", range(8))
    def test_at_random(self, base, seed):
        rng = random.Random(seed)
        known, merges = list("abcd"), []
        while len(merges) < 25:
            pair = f"{rng.choice(known)} {rng.choice(known)}"
            if pair not in merges and len(pair) < 10:
                merges.append(pair)
                known.append(pair.replace(" ", ""))
        rng.shuffle(merges)  # some come before the merges of their halves
        pieces = list(dict.fromkeys([*base, *known]))
        self.check(pieces, merges, seed)

    def test_every_split_of_a_piece(self, base):
        """As merges are listed that were made of another library's ranks."""
        learned = ["a", "b", " ", "aa", "ab", " a", "aab", "  ", "aaa", "   ", " aab"]
        written = [x.replace(" ", "Ġ") for x in learned]
        merges = [
            f"{a.replace(' ', 'Ġ')} {b.replace(' ', 'Ġ')}"
            for x in learned
            for i in range(1, len(x))
            for a, b in [(x[:i], x[i:])]
            if a in learned and b in learned
        ]
        self.check(list(dict.fromkeys([*base, *written])), merges, letters="aab  ")

    @pytest.mark.parametrize(
        ("merges", "message"),
        [
            (["ab"], "two pieces and a space .*'ab'"),
            (["a  b"], "two pieces and a space"),
            ([3], "two pieces and a space .*Received: 3"),
            (["a b", "a b"], "duplicates"),
            (["a c"], "in the vocabulary. Received: 'a c', but 'ac'"),
        ],
    )
    def test_refused(self, base, merges, message):
        with pytest.raises(ValueError, match=message):
            BytePairTokenizer([*base, "ab", "abc"], merges)


class TestErrors:
    def test_missing_byte(self, golden):
        pieces = [x for x in golden["vocabulary"] if x != "Ġ"]
        with pytest.raises(ValueError, match=r"every byte .*\['Ġ'\] \(1 in all\)"):
            BytePairTokenizer(pieces, [])

    def test_missing_special_token(self, golden):
        with pytest.raises(ValueError, match="the cls token 'CLS'"):
            BytePairTokenizer(golden["vocabulary"], [], cls_token="CLS")

    def test_missing_file(self, golden, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"none\.json"):
            BytePairTokenizer(tmp_path / "none.json", [])
        with pytest.raises(FileNotFoundError, match=r"none\.txt"):
            BytePairTokenizer(golden["vocabulary"], tmp_path / "none.txt")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"[", "is not JSON"),
            (b"[1]", "must map pieces to ids"),
            (b'{"a": 1}', "the ids must be 0 to n - 1"),
            (b"\xff", "not a UTF-8 text file"),
        ],
    )
    def test_bad_file(self, tmp_path, content, message):
        (tmp_path / "vocab.json").write_bytes(content)
        with pytest.raises(ValueError, match=rf"vocab\.json.*{message}"):
            BytePairTokenizer(tmp_path / "vocab.json", [])

    @pytest.mark.parametrize("text", [1, None, ["a", None], np.array([1])])
    def test_text_that_is_no_string(self, tokenizer, text):
        with pytest.raises(TypeError, match="`text` must be strings"):
            tokenizer(text)

    @pytest.mark.parametrize("ids", [[5000], [-1]])
    def test_ids_out_of_range(self, tokenizer, ids):
        with pytest.raises(ValueError, match="`ids` must be in"):
            tokenizer.detokenize(ids)


def test_fewer_pieces_keep_what_they_are_merged_from(golden, make_tokenizer):
    whole = make_tokenizer(next(iter(golden["settings"])))
    rows = whole(TEXTS).to_list()
    used = {i for row in rows for i in row}
    smaller, ids = whole.with_only([whole.id_to_token(i) for i in sorted(used)])
    assert used <= {*ids}
    assert smaller.vocabulary_size() < whole.vocabulary_size()
    assert {*smaller.get_merges()} < {*whole.get_merges()}
    assert [[ids[i] for i in row] for row in smaller(TEXTS).to_list()] == rows

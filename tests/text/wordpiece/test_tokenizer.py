"""WordPieceTokenizer against golden ids, in every form strings come in."""

import itertools
import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite import Preprocessor, WordPieceTokenizer
from keras_bert_lite.text.wordpiece import cleaning
from keras_bert_lite.text.wordpiece.tokenizer import read_vocabulary
from tests import tiny
from tests.golden import make_wordpiece_golden
from tests.golden.make_wordpiece_golden import SETTINGS
from tests.text.hard_strings import HARD_STRINGS

REQUIRED = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
ARGUMENTS = {
    "lowercase": False,
    "strip_accents": True,
    "split_cjk": False,
    "special_tokens_in_text": True,
    "unknown_token": "<unk>",
    "cls_token": "<s>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
    "max_characters_per_word": 50,
    "name": "tokens",
}
TEXT_OPS = {"FastBertNormalize", "FastWordpieceTokenizeWithOffsets"}


def golden_ids(golden, setting="uncased"):
    return [row["ids"] for row in golden["settings"][setting]["rows"]]


class TestGolden:
    def test_golden_file_is_up_to_date(self, golden):
        assert golden["texts"] == HARD_STRINGS
        assert golden["vocabulary"] == make_wordpiece_golden.vocabulary()
        assert {k: v["switches"] for k, v in golden["settings"].items()} == SETTINGS

    @pytest.mark.parametrize("setting", SETTINGS)
    def test_ids(self, golden, make_tokenizer, setting):
        ids = make_tokenizer(setting)(golden["texts"])
        assert ids.dtype == tf.int32
        assert ids.to_list() == golden_ids(golden, setting)

    @pytest.mark.parametrize("setting", SETTINGS)
    @pytest.mark.parametrize(
        ("output", "name"), list(enumerate(["ids", "starts", "ends"]))
    )
    def test_offsets(self, golden, make_tokenizer, setting, output, name):
        values = make_tokenizer(setting).tokenize_with_offsets(golden["texts"])[output]
        rows = golden["settings"][setting]["rows"]
        assert values.dtype == tf.int32
        assert values.to_list() == [row[name] for row in rows]

    def test_one_string_at_a_time(self, golden, make_tokenizer):
        tokenizer = make_tokenizer("special_tokens")
        rows = golden["settings"]["special_tokens"]["rows"]
        for text, row in zip(golden["texts"], rows, strict=True):
            outputs = tokenizer.tokenize_with_offsets(text)
            assert [x.numpy().tolist() for x in outputs] == [
                row["ids"],
                row["starts"],
                row["ends"],
            ]


class TestForms:
    @pytest.mark.parametrize(
        "convert",
        [
            list,
            tuple,
            lambda texts: np.array(texts, object),
            lambda texts: np.array([text.rstrip("\0") for text in texts]),
            lambda texts: [text.encode() for text in texts],
            lambda texts: np.array([text.encode() for text in texts], object),
            lambda texts: tf.constant(texts),
        ],
        ids=["list", "tuple", "object", "U", "bytes", "bytes_object", "tensor"],
    )
    def test_batch(self, golden, tokenizer, convert):
        assert tokenizer(convert(golden["texts"])).to_list() == golden_ids(golden)

    def test_fixed_width_bytes(self, tokenizer):
        array = np.array([b"the", b"go"])
        assert array.dtype.kind == "S"
        assert tokenizer(array).to_list() == tokenizer(["the", "go"]).to_list()

    def test_scalar(self, tokenizer):
        expected = tokenizer(["the going"]).to_list()[0]
        for text in ("the going", b"the going", tf.constant("the going")):
            ids = tokenizer(text)
            assert isinstance(ids, tf.Tensor)
            assert ids.numpy().tolist() == expected

    def test_numpy_scalar_array(self, tokenizer):
        expected = tokenizer("the").numpy().tolist()
        assert tokenizer(np.array("the")).numpy().tolist() == expected

    @pytest.mark.parametrize("shape", [(2, 3), (2, 3, 2), (1, 2, 3, 2)])
    @pytest.mark.parametrize("kind", ["list", "array", "tensor"])
    def test_dense_ranks(self, golden, tokenizer, shape, kind):
        size = int(np.prod(shape))
        array = np.array(golden["texts"][:size], object).reshape(shape)
        text = {"list": array.tolist(), "array": array, "tensor": tf.constant(array)}
        ids = tokenizer(text[kind])
        assert ids.shape.as_list() == [*shape, None]
        flat = itertools.chain(*golden_ids(golden)[:size])
        assert ids.flat_values.numpy().tolist() == list(flat)
        assert ids[(0,) * len(shape)].numpy().tolist() == golden_ids(golden)[0]

    def test_ragged(self, tokenizer):
        nested = [["the", "go a"], [], ["b"]]
        expected = [[tokenizer(x).numpy().tolist() for x in row] for row in nested]
        assert tokenizer(nested).to_list() == expected
        assert tokenizer(tf.ragged.constant(nested)).to_list() == expected

    def test_ragged_twice(self, tokenizer):
        nested = [[["the"], ["go", "a b"]], [], [[]]]
        ids = tokenizer(nested)
        assert [[len(x) for x in row] for row in ids.to_list()] == [[1, 2], [], [0]]
        assert ids[0, 1, 1].numpy().tolist() == tokenizer("a b").numpy().tolist()

    def test_rows_of_unequal_object_arrays(self, tokenizer):
        rows = np.empty(2, object)
        rows[:] = [["the"], ["go", "a"]]
        assert tokenizer(rows).to_list() == tokenizer(rows.tolist()).to_list()

    def test_ragged_with_a_dense_inner_axis(self, tokenizer):
        pairs = tf.constant([["a", "b"], ["c", "d"], ["e", "f g"]])
        rows = tf.RaggedTensor.from_row_splits(pairs, [0, 1, 3])
        expected = tokenizer(rows.to_list()).to_list()
        assert tokenizer(rows).to_list() == expected

    @pytest.mark.parametrize(
        ("empty", "shape"),
        [([], [0, None]), ([[]], [1, 0, None]), ([[], []], [2, 0, None])],
    )
    def test_empty(self, tokenizer, empty, shape):
        ids = tokenizer(empty)
        assert ids.dtype == tf.int32
        assert ids.shape.as_list() == shape or ids.to_list() == empty

    def test_blank_batch(self, tokenizer):
        for output in tokenizer.tokenize_with_offsets(["", " ", "\0"]):
            assert output.to_list() == [[], [], []]

    def test_dataset_map(self, golden, tokenizer):
        dataset = tf.data.Dataset.from_tensor_slices(golden["texts"])
        batches = dataset.batch(7).map(tokenizer)
        rows = [row for batch in batches for row in batch.to_list()]
        assert rows == golden_ids(golden)
        singles = [row.numpy().tolist() for row in dataset.map(tokenizer)]
        assert singles == golden_ids(golden)

    def test_function(self, golden, tokenizer):
        run = tf.function(tokenizer, input_signature=[tf.TensorSpec([None], tf.string)])
        assert run(tf.constant(golden["texts"])).to_list() == golden_ids(golden)
        assert run(tf.constant([], tf.string)).to_list() == []

    def test_ragged_in_function(self, tokenizer):
        rows = tf.ragged.constant([["the", "go a"], [], ["b"]])
        assert tf.function(tokenizer)(rows).to_list() == tokenizer(rows).to_list()

    @pytest.mark.parametrize("setting", ["uncased", "special_tokens"])
    def test_saved_model(self, golden, make_tokenizer, setting, tmp_path):
        module = tf.Module()
        module.tokenizer = make_tokenizer(setting)
        module.run = tf.function(
            lambda text: [
                (x.flat_values, x.row_splits)
                for x in module.tokenizer.tokenize_with_offsets(text)
            ],
            input_signature=[tf.TensorSpec([None], tf.string)],
        )
        tf.saved_model.save(module, str(tmp_path / "saved"))
        restored = tf.saved_model.load(str(tmp_path / "saved"))
        outputs = restored.run(tf.constant(golden["texts"]))
        rows = golden["settings"][setting]["rows"]
        for name, (values, splits) in zip(
            ("ids", "starts", "ends"), outputs, strict=True
        ):
            ragged = tf.RaggedTensor.from_row_splits(values, splits)
            assert ragged.to_list() == [row[name] for row in rows]


class TestInvalidBytes:
    CASES = (
        b"the\xff go",
        b"\xf0\x9f\x98 a",
        b"\xc0\xafa",
        b"\xed\xa0\x80b",
        b"\xf8\x88\x80\x80\x80c",
        b"\xe6\x97\xe6\x97\xa5",
        b"a\xff\0b",
        b"\xf4\x90\x80\x80d",
        b"\xff\xfe",
        b"caf\xc3",
    )

    @staticmethod
    def random_bytes(count, seed=0):
        rng = random.Random(seed)
        parts = [bytes([x]) for x in b"ab .\0\x7f\xe6\x97\xa5\xf0\x9f\x98\x80\xc3\xa9"]
        parts += [b"\xed", b"\xc0", b"\xff", b"[MASK]", "日é😀".encode(), b"going"]
        return [b"".join(rng.choices(parts, k=rng.randrange(16))) for _ in range(count)]

    @pytest.mark.parametrize("setting", ["uncased", "cased", "special_tokens"])
    def test_are_skipped_as_python_skips_them(self, make_tokenizer, setting):
        raw = [*self.CASES, *self.random_bytes(3000)]
        tokenizer = make_tokenizer(setting)
        expected = tokenizer.tokenize_with_offsets(
            [x.decode("utf-8", "ignore") for x in raw]
        )
        outputs = tokenizer.tokenize_with_offsets(raw)
        for received, wanted in zip(outputs, expected, strict=True):
            assert received.to_list() == wanted.to_list()
        assert tokenizer(raw).to_list() == expected[0].to_list()


class TestDetokenize:
    def test_joins_pieces(self, tokenizer):
        texts = ["the naive going gots", "", "cafes"]
        joined = tokenizer.detokenize(tokenizer(texts))
        assert [x.decode() for x in joined.numpy()] == texts

    def test_skips_special_tokens_but_unknown(self, tokenizer):
        ids = [tokenizer.cls_id, *tokenizer("the ☃ a").numpy(), tokenizer.sep_id, 0, 0]
        ids = [int(i) for i in ids]
        assert tokenizer.detokenize(ids).numpy() == b"the [UNK] a"
        kept = tokenizer.detokenize(ids, skip_special_tokens=False).numpy()
        assert kept == b"[CLS] the [UNK] a [SEP] [PAD] [PAD]"

    @pytest.mark.parametrize("convert", [list, np.array, tf.constant])
    def test_forms(self, tokenizer, convert):
        the = tokenizer.token_to_id("the")
        assert tokenizer.detokenize(convert([the, the])).shape == ()
        batch = tokenizer.detokenize(convert([[the, the], [the, 0]]))
        assert batch.numpy().tolist() == [b"the the", b"the"]

    def test_ragged_list_and_empty(self, tokenizer):
        the = tokenizer.token_to_id("the")
        assert tokenizer.detokenize([[the], [], [the, the]]).numpy().tolist() == [
            b"the",
            b"",
            b"the the",
        ]
        assert tokenizer.detokenize([]).numpy() == b""

    def test_in_a_function(self, tokenizer):
        run = tf.function(lambda text: tokenizer.detokenize(tokenizer(text)))
        assert run(tf.constant(["the going"])).numpy().tolist() == [b"the going"]

    @pytest.mark.parametrize("ids", [[200], [-1], [[1], [2, 10**6]]])
    def test_refuses_ids_out_of_range(self, tokenizer, ids):
        with pytest.raises(
            (ValueError, tf.errors.InvalidArgumentError), match="`ids` must"
        ):
            tokenizer.detokenize(ids)

    @pytest.mark.parametrize("ids", [5, [[[1]]]])
    def test_refuses_other_ranks(self, tokenizer, ids):
        with pytest.raises(ValueError, match="`ids` must have the shape"):
            tokenizer.detokenize(ids)


class TestSpecialTokens:
    def test_are_plain_text_by_default(self, tokenizer):
        special = {tokenizer.token_to_id(t) for t in tokenizer.special_tokens}
        special -= {tokenizer.unknown_id}
        ids = tokenizer("[CLS][SEP] a[MASK] [PAD]").numpy().tolist()
        assert not special & set(ids)
        assert ids[:1] == [tokenizer.token_to_id("[")]

    def test_are_recognized_when_asked_for(self, make_tokenizer):
        tokenizer = make_tokenizer("special_tokens")
        ids, starts, ends = tokenizer.tokenize_with_offsets("a[MASK]b [SEP]")
        tokens = [tokenizer.id_to_token(int(i)) for i in ids]
        assert tokens == ["a", "[MASK]", "b", "[SEP]"]
        assert starts.numpy().tolist() == [0, 1, 7, 9]
        assert ends.numpy().tolist() == [1, 7, 8, 14]

    def test_under_other_names(self):
        names = {
            "pad_token": "<pad>",
            "unknown_token": "<unk>",
            "cls_token": "<s>",
            "sep_token": "</s>",
            "mask_token": "<mask>",
        }
        tokenizer = WordPieceTokenizer(
            [*names.values(), "a", "<", ">", "s"], special_tokens_in_text=True, **names
        )
        ids = tokenizer("<s>a<mask> é</s> < s >").numpy().tolist()
        assert ids == [2, 5, 4, 1, 3, 6, 8, 7]

    def test_shorter_than_their_stand_in(self, vocabulary):
        with pytest.raises(ValueError, match=r"at least 3 bytes.*Received: \['MM'\]"):
            WordPieceTokenizer(
                [*vocabulary, "MM"], mask_token="MM", special_tokens_in_text=True
            )

    @pytest.mark.parametrize("setting", ["uncased", "special_tokens", "cjk_whole"])
    def test_no_character_stands_for_one(self, make_tokenizer, setting):
        tokenizer = make_tokenizer(setting)
        private = [*range(0xE000, 0xF900), *range(0xF0000, 0xFFFFE)]
        private += [0x7F, *range(0x100000, 0x10FFFE)]
        texts = [f"a{chr(c)}b {chr(c)} ##{chr(c)}" for c in private]
        expected = tokenizer("ab ##").numpy()
        ids = tokenizer(texts)
        assert set(ids.row_lengths().numpy()) == {len(expected)}
        assert (ids.to_tensor().numpy() == expected).all()

    @pytest.mark.parametrize("stand_in", ["\U000ffffe", "\U000fffff"])
    def test_no_noncharacter_stands_for_another(self, vocabulary, stand_in):
        meant = {v: k for k, v in cleaning.characters().stand_ins.items()}
        pieces = [*vocabulary, meant.get(stand_in, "\U000291b2")]
        tokenizer = WordPieceTokenizer(pieces, split_cjk=False)
        assert tokenizer(stand_in).numpy().tolist() == [tokenizer.unknown_id]


class TestVocabularyPieces:
    """Pieces that no text can reach must not disturb those around them."""

    @pytest.mark.parametrize(
        "piece", ["", "\u3000", "\u00a0", "日本x", "a!", "##日", "É"]
    )
    @pytest.mark.parametrize("special_tokens_in_text", [False, True])
    def test_unreachable(self, golden, vocabulary, piece, special_tokens_in_text):
        tokenizer = WordPieceTokenizer(
            [*vocabulary, piece], special_tokens_in_text=special_tokens_in_text
        )
        setting = "special_tokens" if special_tokens_in_text else "uncased"
        assert tokenizer(golden["texts"]).to_list() == golden_ids(golden, setting)

    @pytest.mark.parametrize("piece", [" ", "a b", "the ", " the"])
    def test_with_spaces(self, golden, vocabulary, tokenizer, piece):
        expected = tokenizer("  the a  b ").numpy().tolist()
        tokenizer = WordPieceTokenizer([*vocabulary, piece])
        assert tokenizer(golden["texts"]).to_list() == golden_ids(golden)
        assert tokenizer("  the a  b ").numpy().tolist() == expected

    @pytest.mark.parametrize("piece", ["\ue000", "\U000f0000"])
    def test_private_use(self, golden, vocabulary, piece):
        tokenizer = WordPieceTokenizer(
            [*vocabulary, piece], special_tokens_in_text=True
        )
        expected = golden_ids(golden, "special_tokens")
        assert tokenizer(golden["texts"]).to_list() == expected


class TestLongWords:
    @pytest.mark.parametrize("limit", [1, 5, 300])
    @pytest.mark.parametrize("character", ["a", "é", "ก", "😀", "e\u0301"])
    def test_limit_counts_characters(self, vocabulary, limit, character):
        tokenizer = WordPieceTokenizer(vocabulary, max_characters_per_word=limit)
        fits, long = tokenizer([character * limit, character * (limit + 1)]).to_list()
        assert len(fits) == limit
        assert long == [tokenizer.unknown_id]

    def test_neighbours_are_untouched(self, tokenizer):
        text = "the " + "a" * 101 + " going." + "b" * 300 + "! a"
        ids, starts, ends = tokenizer.tokenize_with_offsets(text)
        tokens = [tokenizer.id_to_token(int(i)) for i in ids]
        expected = ["the", "[UNK]", "going", ".", "[UNK]", "!", "a"]
        assert tokens == expected
        spans = zip(starts.numpy(), ends.numpy(), strict=True)
        found = [text[start:end] for start, end in spans]
        assert found == ["the", "a" * 101, "going", ".", "b" * 300, "!", "a"]


class TestConfig:
    def test_round_trip(self, vocabulary):
        special = [v for k, v in ARGUMENTS.items() if k.endswith("_token")]
        tokenizer = WordPieceTokenizer([*special, *vocabulary], **ARGUMENTS)
        config = tokenizer.get_config()
        assert config.items() >= ARGUMENTS.items()
        restored = keras.saving.deserialize_keras_object(
            keras.saving.serialize_keras_object(tokenizer)
        )
        assert restored.get_config() == config
        assert restored(HARD_STRINGS).to_list() == tokenizer(HARD_STRINGS).to_list()

    def test_inspection(self, tokenizer, vocabulary):
        assert tokenizer.get_vocabulary() == vocabulary
        assert tokenizer.vocabulary_size() == len(vocabulary)
        assert [tokenizer.pad_id, tokenizer.unknown_id] == [0, 1]
        assert [tokenizer.cls_id, tokenizer.sep_id] == [2, 3]
        assert tokenizer.special_tokens == [
            "[UNK]",
            "[CLS]",
            "[SEP]",
            "[PAD]",
            "[MASK]",
        ]
        assert tokenizer.id_to_token(tokenizer.token_to_id("the")) == "the"

    def test_get_vocabulary_is_a_copy(self, tokenizer):
        tokenizer.get_vocabulary().clear()
        assert tokenizer.get_vocabulary()

    def test_from_file(self, vocabulary, tokenizer, tmp_path):
        path = tmp_path / "vocab.txt"
        path.write_bytes("\n".join(vocabulary).encode())
        assert read_vocabulary(path) == vocabulary
        path.write_bytes("\r\n".join([*vocabulary, ""]).encode())
        for source in (path, str(path)):
            restored = WordPieceTokenizer(source)
            assert restored("the going").numpy().tolist() == (
                tokenizer("the going").numpy().tolist()
            )

    def test_keras_file(self, tokenizer, golden, tmp_path):
        text = keras.Input((), dtype="string", name="text")
        model = keras.Model(text, Preprocessor(tokenizer, sequence_length=40)(text))
        model.save(tmp_path / "model.keras")
        restored = keras.saving.load_model(tmp_path / "model.keras")
        clone = keras.models.clone_model(model)
        texts = tf.constant(golden["texts"])
        expected = model(texts)
        for other in (restored, clone):
            outputs = other(texts)
            assert outputs.keys() == expected.keys()
            for name, value in expected.items():
                np.testing.assert_array_equal(outputs[name], value)


class TestErrors:
    @pytest.mark.parametrize("missing", REQUIRED)
    def test_missing_special_token(self, missing):
        pieces = [token for token in REQUIRED if token != missing]
        with pytest.raises(ValueError, match=r"must contain the \w+ token .*Received"):
            WordPieceTokenizer([*pieces, "a"])

    def test_mask_token_may_be_missing(self):
        tokenizer = WordPieceTokenizer([*REQUIRED, "a"], special_tokens_in_text=True)
        assert tokenizer("a [SEP]").numpy().tolist() == [4, 3]
        assert "[MASK]" not in tokenizer.special_tokens

    def test_duplicates(self):
        with pytest.raises(ValueError, match=r"duplicates.*\['a', 'b'\] \(2 in all\)"):
            WordPieceTokenizer([*REQUIRED, "a", "b", "a", "b", "c"])

    def test_empty_vocabulary(self):
        with pytest.raises(ValueError, match="must not be empty"):
            WordPieceTokenizer([])

    @pytest.mark.parametrize("piece", [b"a", 1, None])
    def test_pieces_that_are_no_strings(self, piece):
        with pytest.raises(TypeError, match=f"Received.*{type(piece).__name__}"):
            WordPieceTokenizer([*REQUIRED, piece])

    @pytest.mark.parametrize("limit", [0, -1])
    def test_word_limit(self, limit):
        with pytest.raises(
            ValueError, match=rf"`max_characters_per_word` .*Received: {limit}"
        ):
            WordPieceTokenizer(REQUIRED, max_characters_per_word=limit)

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"none\.txt"):
            WordPieceTokenizer(tmp_path / "none.txt")

    def test_file_that_is_not_utf8(self, tmp_path):
        path = tmp_path / "vocab.txt"
        path.write_bytes("[PAD]\ncafé\n".encode("latin-1"))
        with pytest.raises(ValueError, match=r"vocab\.txt is not a UTF-8 text file"):
            WordPieceTokenizer(path)

    @pytest.mark.parametrize(
        "text",
        [
            1,
            None,
            [1],
            ["a", None],
            ["a", 1.5],
            [["a"], [2]],
            {"a"},
            np.array([1]),
            np.array(["a", None], object),
            tf.constant([1]),
            tf.ragged.constant([[1]]),
            tf.sparse.from_dense(["a"]),
        ],
        ids=lambda text: type(text).__name__,
    )
    @pytest.mark.parametrize("method", ["__call__", "tokenize_with_offsets"])
    def test_text_that_is_no_string(self, tokenizer, text, method):
        with pytest.raises(TypeError, match=r"`text` must be strings\. Received"):
            getattr(tokenizer, method)(text)

    def test_lists_of_mixed_depth(self, tokenizer):
        with pytest.raises(ValueError, match="nesting depth"):
            tokenizer(["a", ["b"]])

    @pytest.mark.parametrize("id", [-1, 200])
    def test_id_out_of_range(self, tokenizer, id):
        with pytest.raises(ValueError, match=rf"\[0, 200\). Received: {id}"):
            tokenizer.id_to_token(id)

    def test_foreign_token(self, tokenizer):
        with pytest.raises(ValueError, match="Received: 'nope'"):
            tokenizer.token_to_id("nope")

    def test_ragged_output_in_a_functional_model(self, tokenizer):
        with pytest.raises(NotImplementedError, match="Use `Preprocessor"):
            tokenizer(keras.Input((), dtype="string"))


def ops_of(function, *signature):
    """The ops of a traced function and of all that it calls."""
    graph = tf.function(function).get_concrete_function(*signature).graph
    definition = graph.as_graph_def()
    functions = definition.library.function
    nodes = [*definition.node, *(node for f in functions for node in f.node_def)]
    return {node.op for node in nodes} - {f.signature.name for f in functions}


class TestGraph:
    @pytest.fixture
    def functions(self, make_tokenizer):
        tokenizer = make_tokenizer("special_tokens")
        text = tf.TensorSpec([None], tf.string)
        return [
            (tokenizer.tokenize_with_offsets, text),
            (lambda text: tokenizer.detokenize(tokenizer(text)), text),
            (Preprocessor(tokenizer), text),
            (Preprocessor(tokenizer, 16, padding=[8, 16]), (text, text)),
        ]

    def test_every_op_is_in_stock_tf_serving(self, functions):
        core = set(dir(tf.raw_ops))
        for function, *signature in functions:
            ops = ops_of(function, *signature)
            foreign = {op.removeprefix("TFText>") for op in ops if op not in core}
            assert foreign == TEXT_OPS
            assert not [op for op in ops if "PyFunc" in op]


@pytest.mark.parametrize("piece", ["a" * 257, "##" + "é" * 129])
def test_refuses_pieces_longer_than_the_op_takes(piece):
    with pytest.raises(ValueError, match="pieces of at most 256 bytes"):
        WordPieceTokenizer([*REQUIRED, piece])
    longest = "##" + "a" * 256
    assert WordPieceTokenizer([*REQUIRED, longest]).token_to_id(longest)


@pytest.mark.parametrize("pieces", [[], ["##"]])
def test_refuses_a_vocabulary_that_makes_up_no_words(pieces):
    with pytest.raises(ValueError, match="`vocabulary` must have pieces that form"):
        WordPieceTokenizer([*REQUIRED, *pieces])


def test_fewer_pieces_are_split_into_as_before():
    pieces = [*tiny.VOCABULARY, "days"]
    whole = WordPieceTokenizer(pieces, num_model_pieces=len(tiny.VOCABULARY))
    smaller, ids = whole.with_only(["day", "days"])
    assert "weather" not in smaller.get_vocabulary()
    assert "days" in smaller.get_vocabulary()
    assert [ids[i] for i in smaller("days").numpy()] == whole("days").numpy().tolist()
    assert [smaller.id_to_token(i) for i in smaller("days")] == ["day", "##s"]

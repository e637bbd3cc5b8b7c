"""Preprocessor: packing, truncation and padding."""

import random
from typing import ClassVar

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite import Preprocessor, WordPieceTokenizer

PAD, CLS, SEP = 0, 2, 3


def encode_reference(first, second, length):
    """Packs ids as Hugging Face tokenizers do with `longest_first`."""
    room = length - (2 if second is None else 3)
    if second is None:
        return [CLS, *first[:room], SEP], [0] * (len(first[:room]) + 2)
    n1, n2 = truncated_lengths(len(first), len(second), room)
    first, second = first[:n1], second[:n2]
    ids = [CLS, *first, SEP, *second, SEP]
    return ids, [0] * (n1 + 2) + [1] * (n2 + 1)


def truncated_lengths(n1, n2, room):
    """`truncate_encodings` of Hugging Face tokenizers, in Python."""
    if n1 + n2 <= room:
        return n1, n2
    swapped = n1 > n2
    if swapped:
        n1, n2 = n2, n1
    n2 = n1 if n1 > room else max(n1, room - n1)
    if n1 + n2 > room:
        n1 = room // 2
        n2 = n1 + room % 2
    return (n2, n1) if swapped else (n1, n2)


def text_of(length, letters, rng):
    return " ".join(rng.choices(letters, k=length))


def rows(outputs):
    """Reads the rows back without their padding."""
    mask = outputs["padding_mask"].numpy()
    for name, padding in (("token_ids", PAD), ("segment_ids", 0)):
        assert (outputs[name].numpy()[~mask] == padding).all()
    assert (np.sort(mask, -1)[:, ::-1] == mask).all()
    return [
        (ids[real].tolist(), segments[real].tolist())
        for ids, segments, real in zip(
            outputs["token_ids"].numpy(),
            outputs["segment_ids"].numpy(),
            mask,
            strict=True,
        )
    ]


def assert_same(outputs, expected):
    assert list(outputs) == list(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(outputs[name], value, name)


class TestSingle:
    def test_batch(self, tokenizer):
        a, b = tokenizer.token_to_id("a"), tokenizer.token_to_id("b")
        outputs = Preprocessor(tokenizer)(["a b", "a"])
        expected = [[CLS, a, b, SEP], [CLS, a, SEP, PAD]]
        assert outputs["token_ids"].numpy().tolist() == expected
        assert outputs["segment_ids"].numpy().tolist() == [[0] * 4] * 2
        assert outputs["padding_mask"].numpy().tolist() == [
            [True] * 4,
            [True, True, True, False],
        ]

    def test_dtypes(self, tokenizer):
        outputs = Preprocessor(tokenizer)(["a"])
        dtypes = {name: value.dtype.name for name, value in outputs.items()}
        assert dtypes == {
            "token_ids": "int32",
            "segment_ids": "int32",
            "padding_mask": "bool",
        }

    @pytest.mark.parametrize("text", ["a b", b"a b", tf.constant("a b")])
    def test_scalar(self, tokenizer, text):
        preprocessor = Preprocessor(tokenizer)
        batch = preprocessor(["a b"])
        assert_same(preprocessor(text), {k: v[0] for k, v in batch.items()})

    def test_empty_strings(self, tokenizer):
        outputs = Preprocessor(tokenizer, 8)(["", " "])
        assert rows(outputs) == [([CLS, SEP], [0, 0])] * 2

    @pytest.mark.parametrize("padding", ["longest", "max_length", [4, 8]])
    @pytest.mark.parametrize("inputs", [[], ([], [])], ids=["single", "pairs"])
    def test_empty_batch(self, tokenizer, padding, inputs):
        outputs = Preprocessor(tokenizer, 8, padding)(inputs)
        width = {"longest": 2, "max_length": 8}.get(str(padding), 4)
        for value in outputs.values():
            assert value.shape == (0, width)

    def test_numpy_and_tensors(self, tokenizer):
        preprocessor = Preprocessor(tokenizer)
        expected = preprocessor(["a b", "a"])
        for convert in (np.array, tf.constant, lambda x: np.array(x, object)):
            assert_same(preprocessor(convert(["a b", "a"])), expected)


class TestPairs:
    def test_batch(self, tokenizer):
        a, b = tokenizer.token_to_id("a"), tokenizer.token_to_id("b")
        outputs = Preprocessor(tokenizer)((["a b", "a"], ["b", ""]))
        assert rows(outputs) == [
            ([CLS, a, b, SEP, b, SEP], [0, 0, 0, 0, 1, 1]),
            ([CLS, a, SEP, SEP], [0, 0, 0, 1]),
        ]

    def test_scalars(self, tokenizer):
        preprocessor = Preprocessor(tokenizer)
        batch = preprocessor((["a b"], ["b"]))
        assert_same(preprocessor(("a b", "b")), {k: v[0] for k, v in batch.items()})

    def test_dictionary(self, tokenizer):
        preprocessor = Preprocessor(tokenizer, 16)
        pair = (["a b", "a"], ["b", "b b"])
        named = dict(zip(("text", "text_pair"), pair, strict=True))
        reversed_order = dict(reversed(named.items()))
        assert_same(preprocessor(named), preprocessor(pair))
        assert_same(preprocessor(reversed_order), preprocessor(pair))
        assert_same(preprocessor({"text": pair[0]}), preprocessor(pair[0]))

    def test_a_prompt_precedes_the_first_text(self, tokenizer):
        prompts = {"prompts": {"x": "b "}, "default_prompt_name": "x"}
        outputs = Preprocessor(tokenizer, **prompts)((["a"], ["a b"]))
        assert_same(outputs, Preprocessor(tokenizer)((["b a"], ["a b"])))

    def test_a_list_of_two_is_a_batch(self, tokenizer):
        assert Preprocessor(tokenizer)(["a", "b"])["token_ids"].shape == (2, 3)


class TestTruncation:
    @pytest.mark.parametrize("length", range(3, 31))
    def test_equals_the_reference(self, tokenizer, length):
        rng = random.Random(length)
        sizes = [(rng.randrange(25), rng.randrange(25)) for _ in range(100)]
        sizes += [(n, n) for n in range(25)] + [(0, 24), (24, 0), (length, length)]
        first = [text_of(n, "abc", rng) for n, _ in sizes]
        second = [text_of(n, "xyz", rng) for _, n in sizes]
        preprocessor = Preprocessor(tokenizer, length)
        first_ids, second_ids = (tokenizer(x).to_list() for x in (first, second))
        assert rows(preprocessor((first, second))) == [
            encode_reference(*ids, length)
            for ids in zip(first_ids, second_ids, strict=True)
        ]
        assert rows(preprocessor(first)) == [
            encode_reference(ids, None, length) for ids in first_ids
        ]

    def test_never_drops_a_special_token(self, tokenizer):
        rng = random.Random(0)
        texts = [text_of(rng.randrange(50), "abc", rng) for _ in range(100)]
        pairs = [text_of(rng.randrange(50), "xyz", rng) for _ in range(100)]
        for length in range(3, 20):
            for ids, segments in rows(Preprocessor(tokenizer, length)((texts, pairs))):
                assert len(ids) <= length
                assert ids[0] == CLS
                assert ids.count(CLS) == 1
                assert ids[-1] == SEP
                assert ids.count(SEP) == 2
                assert segments.index(1) == ids.index(SEP) + 1

    def test_none_never_truncates(self, tokenizer):
        outputs = Preprocessor(tokenizer)((["a " * 700], ["b " * 700]))
        assert outputs["token_ids"].shape == (1, 1403)

    def test_text_that_fits_exactly_is_whole(self, tokenizer):
        outputs = Preprocessor(tokenizer, 5)(["a b c", "a b c d"])
        a, b, c = (tokenizer.token_to_id(x) for x in "abc")
        assert outputs["token_ids"].numpy().tolist() == [[CLS, a, b, c, SEP]] * 2


class TestPadding:
    def test_longest(self, tokenizer):
        preprocessor = Preprocessor(tokenizer, 16)
        assert preprocessor(["a", "a b c"])["token_ids"].shape == (2, 5)
        assert preprocessor(["a " * 50])["token_ids"].shape == (1, 16)

    def test_max_length(self, tokenizer):
        preprocessor = Preprocessor(tokenizer, 16, padding="max_length")
        for texts in (["a"], ["a " * 50], ["a", "a b c"]):
            assert preprocessor(texts)["token_ids"].shape == (len(texts), 16)
        assert preprocessor("a")["token_ids"].shape == (16,)

    @pytest.mark.parametrize(
        ("words", "width"), [(0, 4), (2, 4), (3, 8), (6, 8), (7, 16), (50, 16)]
    )
    def test_buckets(self, tokenizer, words, width):
        preprocessor = Preprocessor(tokenizer, 16, padding=[4, 8, 16])
        outputs = preprocessor(["a", "a " * words])
        assert outputs["token_ids"].shape == (2, width)
        assert outputs["padding_mask"].numpy().sum(-1).tolist() == [
            3,
            min(words + 2, 16),
        ]

    def test_uses_the_pad_id(self, vocabulary):
        tokenizer = WordPieceTokenizer(vocabulary, pad_token="[unused0]")
        outputs = Preprocessor(tokenizer, 6, "max_length")("a")
        assert outputs["token_ids"].numpy()[3:].tolist() == [tokenizer.pad_id] * 3
        assert tokenizer.pad_id == 5


class TestGraph:
    @pytest.mark.parametrize(
        ("padding", "width", "pairs"),
        [
            ("longest", None, True),
            ("max_length", 16, False),
            ("max_length", 16, True),
            ([8, 16], None, False),
        ],
    )
    def test_static_shapes(self, tokenizer, padding, width, pairs):
        preprocessor = Preprocessor(tokenizer, 16, padding)
        spec = tf.TensorSpec([None], tf.string)
        traced = tf.function(preprocessor).get_concrete_function(
            (spec, spec) if pairs else spec
        )
        symbol = keras.Input((), dtype="string")
        symbolic = preprocessor((symbol, symbol) if pairs else symbol)
        for name, value in traced.structured_outputs.items():
            assert value.shape.as_list() == [None, width]
            assert symbolic[name].shape == (None, width)
            assert symbolic[name].dtype == value.dtype.name

    @pytest.mark.parametrize(
        ("length", "padding"), [(5, "longest"), (16, "max_length"), (8, [4, 8])]
    )
    def test_function(self, tokenizer, length, padding):
        preprocessor = Preprocessor(tokenizer, length, padding)
        pair = (tf.constant(["a b", "", "the"]), tf.constant(["b", "a b c d e f", ""]))
        named = dict(zip(("text", "text_pair"), pair, strict=True))
        assert_same(tf.function(preprocessor)(named), preprocessor(pair))

    def test_dataset_after_batching(self, tokenizer):
        preprocessor = Preprocessor(tokenizer, 8)
        texts, pairs = ["a b", "the", "b a b"], ["a", "", "b b b b b b"]
        dataset = tf.data.Dataset.from_tensor_slices((texts, pairs)).batch(2)
        first, second = dataset.map(lambda x, y: preprocessor((x, y)))
        assert_same(first, preprocessor((texts[:2], pairs[:2])))
        assert_same(second, preprocessor((texts[2:], pairs[2:])))

    def test_dataset_before_batching(self, tokenizer):
        preprocessor = Preprocessor(tokenizer, 8, "max_length")
        texts = ["a b", "the", "b a b"]
        dataset = tf.data.Dataset.from_tensor_slices({"text": texts})
        dataset = dataset.map(preprocessor).batch(3)
        assert dataset.element_spec["token_ids"].shape.as_list() == [None, 8]
        assert_same(next(iter(dataset)), preprocessor(texts))

    def test_dataset_before_padded_batching(self, tokenizer):
        preprocessor = Preprocessor(tokenizer, 8)
        texts = ["a b", "the", "b a b"]
        dataset = tf.data.Dataset.from_tensor_slices(texts).map(preprocessor)
        assert_same(next(iter(dataset.padded_batch(3))), preprocessor(texts))

    def test_sizes_that_differ_are_refused_at_run_time(self, tokenizer):
        spec = tf.TensorSpec([None], tf.string)
        run = tf.function(Preprocessor(tokenizer), input_signature=[(spec, spec)])
        with pytest.raises(tf.errors.InvalidArgumentError):
            run((tf.constant(["a"]), tf.constant(["b", "c"])))


class TestConfig:
    @pytest.mark.parametrize("padding", ["longest", "max_length", (8, 16)])
    def test_round_trip(self, tokenizer, padding):
        preprocessor = Preprocessor(tokenizer, 16, padding, name="pack")
        restored = keras.saving.deserialize_keras_object(
            keras.saving.serialize_keras_object(preprocessor)
        )
        assert restored.get_config() == preprocessor.get_config()
        pair = (["the a b", ""], ["b", "a"])
        assert_same(restored(pair), preprocessor(pair))

    def test_from_config_leaves_the_config_whole(self, tokenizer):
        config = Preprocessor(tokenizer, 16).get_config()
        Preprocessor.from_config(config)
        assert Preprocessor.from_config(config).sequence_length == 16

    def test_keras_file_of_pairs(self, tokenizer, tmp_path):
        inputs = {
            name: keras.Input((), dtype="string", name=name)
            for name in ("text", "text_pair")
        }
        preprocessor = Preprocessor(tokenizer, 8, [4, 8])
        model = keras.Model(inputs, preprocessor(inputs))
        model.save(tmp_path / "model.keras")
        restored = keras.saving.load_model(tmp_path / "model.keras")
        texts = {"text": tf.constant(["a b", ""]), "text_pair": tf.constant(["b", ""])}
        assert_same(restored(texts), preprocessor(texts))


class TestErrors:
    @pytest.mark.parametrize("length", [0, -1, 2, 8.5])
    def test_length(self, tokenizer, length):
        with pytest.raises(ValueError, match=f"at least 3, .* Received: {length}"):
            Preprocessor(tokenizer, length)

    @pytest.mark.parametrize(
        ("length", "padding"),
        [
            (None, "max_length"),
            (8, "shortest"),
            (8, []),
            (8, [4]),
            (8, [4, 16]),
            (8, [8, 4]),
            (8, [4, 4, 8]),
            (None, [4, 8]),
        ],
    )
    def test_padding(self, tokenizer, length, padding):
        with pytest.raises(ValueError, match=r"`padding` must.*Received:"):
            Preprocessor(tokenizer, length, padding)

    @pytest.mark.parametrize("tokenizer", ["vocab.txt", None, ["a"]])
    def test_tokenizer(self, tokenizer):
        with pytest.raises(TypeError, match="`tokenizer` must be a tokenizer layer"):
            Preprocessor(tokenizer)

    @pytest.mark.parametrize(
        "inputs", [[[["a"]]], np.array([[["a"]]]), tf.constant([[["a"]]])]
    )
    def test_rank(self, tokenizer, inputs):
        with pytest.raises(ValueError, match="must have the same rank, at most 2"):
            Preprocessor(tokenizer)(inputs)

    @pytest.mark.parametrize("inputs", [("a",), ("a", "b", "c"), ()])
    def test_tuple_that_is_no_pair(self, tokenizer, inputs):
        with pytest.raises(ValueError, match=f"Received: a tuple of {len(inputs)}"):
            Preprocessor(tokenizer)(inputs)

    def test_pairs_that_differ_in_number(self, tokenizer):
        with pytest.raises(
            ValueError, match=r"same number of strings\. Received: 1 and 2"
        ):
            Preprocessor(tokenizer)((["a"], ["b", "c"]))

    @pytest.mark.parametrize("inputs", [{}, {"texts": ["a"]}, {"text_pair": ["a"]}])
    def test_dictionary_keys(self, tokenizer, inputs):
        with pytest.raises(ValueError, match="must be `text` and, for pairs"):
            Preprocessor(tokenizer)(inputs)

    @pytest.mark.parametrize(
        ("inputs", "name"),
        [
            ([1], "text"),
            (None, "text"),
            (("a", 1), "text_pair"),
            ({"text": "a", "text_pair": None}, "text_pair"),
            (tf.constant([1]), "text"),
        ],
    )
    def test_inputs_that_are_no_strings(self, tokenizer, inputs, name):
        with pytest.raises(TypeError, match=f"`{name}` must be strings"):
            Preprocessor(tokenizer)(inputs)

    def test_a_pair_is_one_tuple(self, tokenizer):
        preprocessor = Preprocessor(tokenizer)
        with pytest.raises(TypeError, match=r"takes one argument\. Received: 2"):
            preprocessor(["a"], ["b"])
        rows = tf.data.Dataset.from_tensor_slices((["a"], [1])).batch(1)
        with pytest.raises(TypeError, match="takes one argument"):
            rows.map(preprocessor)

    def test_a_text_and_a_batch_are_no_pair(self, tokenizer):
        with pytest.raises(ValueError, match="must have the same rank"):
            Preprocessor(tokenizer)(("a", ["b"]))

    @pytest.mark.tensorflow(reason="symbolic calls")
    def test_symbols_that_are_no_strings(self, tokenizer):
        with pytest.raises(ValueError, match="must be strings of shape"):
            Preprocessor(tokenizer)(keras.Input((), dtype="int32"))


class TestPromptNames:
    PROMPTS: ClassVar = {"q": "a b ", "d": "b "}

    @pytest.mark.parametrize("default", [None, "d"])
    def test_each_text_begins_with_its_prompt(self, tokenizer, default):
        made = Preprocessor(
            tokenizer, prompts=self.PROMPTS, default_prompt_name=default
        )
        found = made({"text": ["a", "a", "b"], "prompt_name": ["q", "", "d"]})
        usual = "b a" if default else "a"
        assert_same(found, Preprocessor(tokenizer)(["a b a", usual, "b b"]))

    def test_one_name_for_all(self, tokenizer):
        made = Preprocessor(tokenizer, prompts=self.PROMPTS)
        found = made({"text": ["a", "b"], "prompt_name": "d"})
        assert_same(found, Preprocessor(tokenizer)(["b a", "b b"]))

    def test_a_name_for_each_of_a_row(self, tokenizer):
        made = Preprocessor(tokenizer, prompts=self.PROMPTS)
        found = made({"text": [["a", "b"]] * 3, "prompt_name": ["q", "d"]})
        assert_same(found, Preprocessor(tokenizer)([["a b a", "b b"]] * 3))

    def test_the_first_text_of_a_pair(self, tokenizer):
        made = Preprocessor(tokenizer, prompts=self.PROMPTS)
        given = {"text": ["a"], "text_pair": ["b"], "prompt_name": ["d"]}
        assert_same(made(given), Preprocessor(tokenizer)((["b a"], ["b"])))

    def test_refuses_unknown_names(self, tokenizer):
        made = Preprocessor(tokenizer, prompts=self.PROMPTS)
        given = {"text": ["a", "b"], "prompt_name": ["q", "x"]}
        message = r"`prompt_name` must be one of \['q', 'd'\], or empty. .*\['x'\]"
        with pytest.raises(ValueError, match=message):
            made(given)
        traced = tf.function(lambda names: made({"text": ["a"], "prompt_name": names}))
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be one of"):
            traced(tf.constant(["x"]))

    def test_names_the_prompt_of_a_role(self, tokenizer):
        made = Preprocessor(tokenizer, prompts=self.PROMPTS)
        assert made.prompt_for(("x", "d", "q")) == "d"
        assert made.prompt_for(("x",)) == ""

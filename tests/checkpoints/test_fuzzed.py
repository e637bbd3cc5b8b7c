"""Damaged checkpoints: refused by name, before memory is taken for them.

What is decided here: NaN and infinite weights are loaded as they are, with a
warning that names them, and float64 beyond float32 is refused; a tensor that no
part of the model has a place for is an error in the encoder and a warning in the
head; a JSON object with a key twice is refused.
"""

import json
import os
import random
import struct
import warnings

import keras
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.core import tensors
from keras_bert_lite.checkpoints.core.name_table import model_parts, targets
from keras_bert_lite.checkpoints.hugging_face.names import BERT
from keras_bert_lite.checkpoints.hugging_face.safetensors_files import SafetensorsSource
from tests.checkpoints.family_cases import CASES
from tests.checkpoints.memory import peak
from tests.checkpoints.tokenizer_json import TOKENIZER_JSON
from tests.families import checkpoints

KINDS = {
    "encoder": "bert-Model",
    "classifier": "bert-ForSequenceClassification",
    "deberta": "deberta-v2-ForSequenceClassification",
    "albert": "albert-ForSequenceClassification",
    "sharded": "bert-ForSequenceClassification",
}
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
HUGE = 10**9
WRONG = [None, [], {}, "x", "1", -1, 0, 1.5, True, float("nan"), [1], {"a": 1}, HUGE]
MEMORY = 400  # MiB that all of this file's refusals may take


def tensors_of(name):
    shapes = CASES[name]["tensors"]
    return {x: checkpoints.weight(x, tuple(shape)) for x, shape in shapes.items()}


def write(directory, kind="encoder", weights=None, **changes):
    name = KINDS[kind]
    weights = tensors_of(name) if weights is None else weights
    config = {**CASES[name]["configuration"], **changes}
    (directory / "config.json").write_text(json.dumps(config))
    if kind != "sharded":
        safetensors.numpy.save_file(weights, directory / WEIGHTS)
        return directory
    names = sorted(weights)
    shards = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, part in shards.items():
        safetensors.numpy.save_file({x: weights[x] for x in part}, directory / file)
    write_index(directory, {x: file for file, part in shards.items() for x in part})
    return directory


def write_index(directory, weight_map):
    (directory / INDEX).write_text(json.dumps({"weight_map": weight_map}))


def refuse(directory, *parts, load=kbl.load_model):
    """Asserts that a directory is refused with a message that has these parts."""
    with warnings.catch_warnings(action="ignore"), pytest.raises(ValueError) as caught:  # noqa: PT011
        load(directory)
    message = str(caught.value)
    for part in (str(directory), *parts):
        assert part in message


@pytest.fixture(scope="module", autouse=True)
def _little_memory(tmp_path_factory):
    kbl.load_model(write(tmp_path_factory.mktemp("first")))
    before = peak()
    yield
    assert peak() - before < MEMORY


class TestTensors:
    @pytest.mark.parametrize("kind", KINDS)
    def test_undamaged(self, tmp_path, kind):
        assert kbl.load_model(write(tmp_path, kind)).count_params()

    @pytest.mark.parametrize("kind", KINDS)
    def test_damaged(self, tmp_path, kind):
        weights = tensors_of(KINDS[kind])
        first_of_two = ("intermediate.dense.weight", "ffn.weight")
        name = next(x for x in weights if x.endswith(first_of_two))
        stem = name.removeprefix("bert.").removeprefix("deberta.")
        stem = stem.removeprefix("albert.")
        damaged = {
            "must have the shape (24, 16). Received: (16, 24)": weights[name].T.copy(),
            "must have the shape (24, 16). Received: ()": np.float32(1)[()],
            "must have the shape (24, 16). Received: (0, 16)": weights[name][:0],
            "Received: I8": weights[name].astype(np.int8),
            "Received: I64": weights[name].astype(np.int64),
            "Received: BOOL": weights[name] > 0,
            "Received: F8_E4M3": weights[name].astype(ml_dtypes.float8_e4m3fn),
        }
        for message, value in damaged.items():
            write(tmp_path, kind, {**weights, name: np.asarray(value)})
            refuse(tmp_path, WEIGHTS, stem, message)
        write(tmp_path, kind, {x: y for x, y in weights.items() if x != name})
        refuse(tmp_path, WEIGHTS, "lacks 1 tensors", stem)
        extra = name.replace("intermediate", "extra").replace("ffn", "extra")
        write(tmp_path, kind, {**weights, extra: weights[name]})
        refuse(tmp_path, WEIGHTS, "does not account for", "extra")

    def test_numbers_that_are_none_are_loaded_as_they_are(self, tmp_path):
        weights = tensors_of(KINDS["encoder"])
        name = "embeddings.word_embeddings.weight"
        assert name in weights
        weights[name][:3, 0] = [np.nan, np.inf, -np.inf]
        with pytest.warns(UserWarning, match=f"in 1 weights: .'{name}'.") as caught:
            model = kbl.load_model(write(tmp_path, weights=weights))
        assert len(caught) == 1
        table = model.get_layer("embeddings").token_embedding.embeddings
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(table), weights[name])

    @pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("place", [0, -1])
    def test_numbers_that_are_none_are_found_in_every_part(
        self, tmp_path, monkeypatch, wrong, place
    ):
        monkeypatch.setattr(tensors, "LARGE", 50)  # so that tables are read by rows
        weights = tensors_of(KINDS["encoder"])
        names = [NAME, "pooler.dense.bias"]
        for name in names:
            weights[name].flat[place] = wrong
        with pytest.warns(UserWarning, match="NaN or infinite") as caught:
            kbl.load_model(write(tmp_path, weights=weights))
        assert [str(names) in str(x.message) for x in caught] == [True]

    def test_numbers_beyond_float32(self, tmp_path):
        """Refused before any variable has changed; what is infinite already is not."""
        weights = {x: np.float64(y) for x, y in tensors_of(KINDS["encoder"]).items()}
        weights[NAME][0, 0] = np.inf
        with pytest.warns(UserWarning, match="NaN or infinite"):
            model = kbl.load_model(write(tmp_path, weights=weights))
        last = "pooler.dense.weight"
        weights[last][1, 1] = -1e300
        refuse(write(tmp_path, weights=weights), last, "-1e+300")
        before = model.get_weights()
        with pytest.raises(ValueError, match=last):
            tensors.fill(SafetensorsSource(tmp_path), targets(BERT, model_parts(model)))
        for ours, theirs in zip(model.get_weights(), before, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_tied_tensors(self, tmp_path):
        """Both may be stored if they are equal; NaN equals NaN."""
        case = "bert-ForMaskedLM"
        weights = tensors_of(case)
        table = weights["bert.embeddings.word_embeddings.weight"]
        table[0, 0] = np.nan
        decoder = "cls.predictions.decoder.weight"
        checkpoints.write(tmp_path, CASES[case]["configuration"], {})
        path = tmp_path / WEIGHTS
        safetensors.numpy.save_file({**weights, decoder: table.copy()}, path)
        with pytest.warns(UserWarning, match="NaN or infinite"):
            kbl.load_model(tmp_path)
        for other in (
            table + 1,
            table.T.copy(),
            np.zeros(table.shape, np.int8),
            np.zeros(table.shape, ml_dtypes.float8_e4m3fn),
        ):
            safetensors.numpy.save_file({**weights, decoder: other}, path)
            refuse(tmp_path, WEIGHTS, decoder, "must be equal")


def parts(path):
    """Header, as JSON, and data of a safetensors file."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def join(header, data, size=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


NAME = "embeddings.word_embeddings.weight"


def lying(header, **changes):
    return {**header, NAME: {**header[NAME], **changes}}


HEADERS = {
    "empty": lambda h, d: b"",
    "short": lambda h, d: b"\x00\x01",
    "no header": lambda h, d: join(b"", b""),
    "huge header": lambda h, d: join(h, d, 2**60),
    "negative header": lambda h, d: join(h, d, 2**64 - 1),
    "header beyond the file": lambda h, d: join(h, b"", 10**6),
    "no JSON": lambda h, d: join(b"x" * 100, d),
    "a list": lambda h, d: join([h], d),
    "deep": lambda h, d: join(b'{"a":' * 10**5, d),
    "not UTF-8": lambda h, d: join(b'{"\xff\xfe": {}}', d),
    "cut": lambda h, d: join(h, d[:-1]),
    "longer": lambda h, d: join(h, d + b"\x00"),
    "offsets beyond": lambda h, d: join(lying(h, data_offsets=[0, 10**12]), d),
    "offsets that overlap": lambda h, d: join(lying(h, data_offsets=[0, 2560]), d),
    "offsets turned": lambda h, d: join(lying(h, data_offsets=[2560, 0]), d),
    "offsets negative": lambda h, d: join(lying(h, data_offsets=[-8, 2552]), d),
    "shape": lambda h, d: join(lying(h, shape=[41, 16]), d),
    "huge shape": lambda h, d: join(lying(h, shape=[2**40, 2**40]), d),
    "negative shape": lambda h, d: join(lying(h, shape=[-40, -16]), d),
    "dtype": lambda h, d: join(lying(h, dtype="F1024"), d),
    "metadata": lambda h, d: join({**h, "__metadata__": {"a": [1]}}, d),
}


class TestFiles:
    @pytest.mark.parametrize("damage", HEADERS)
    def test_header(self, tmp_path, damage):
        path = write(tmp_path) / WEIGHTS
        path.write_bytes(HEADERS[damage](*parts(path)))
        refuse(tmp_path, f"{WEIGHTS} cannot be read")

    def test_file_without_tensors(self, tmp_path):
        write(tmp_path, weights={})
        refuse(tmp_path, "stored weights", load=kbl.load_encoder)

    def test_what_is_no_file(self, tmp_path):
        path = write(tmp_path) / WEIGHTS
        path.unlink()
        path.mkdir()
        refuse(tmp_path, f"{WEIGHTS} is missing or not a file")
        path.rmdir()
        path.symlink_to(tmp_path / "nowhere")
        refuse(tmp_path, f"{WEIGHTS} is missing or not a file")
        path.unlink()
        path.symlink_to(path)
        refuse(tmp_path, f"{WEIGHTS} is missing or not a file")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
    @pytest.mark.parametrize("name", [WEIGHTS, "config.json"])
    def test_what_may_not_be_read(self, tmp_path, name):
        write(tmp_path)
        (tmp_path / name).chmod(0)
        refuse(tmp_path, f"{name} cannot be read")

    @pytest.mark.parametrize("name", ["x" * 5000, "\x00", "/dev/null", ""])
    def test_sources_that_are_no_directory(self, name):
        with pytest.raises(ValueError, match="`source` must be a directory"):
            kbl.load_model(name)


class TestShards:
    @pytest.mark.parametrize(
        "file",
        [
            "../evil.safetensors",
            "/tmp/evil.safetensors",
            "a\\evil.safetensors",
            "a/evil.safetensors",
            "",
            ".",
            5,
            None,
            ["one.safetensors"],
        ],
    )
    def test_files_elsewhere(self, tmp_path, file):
        write(tmp_path, "sharded")
        write_index(tmp_path, {NAME: file})
        refuse(tmp_path, INDEX, NAME, "must be a name in the same directory")

    @pytest.mark.parametrize(
        "file", ["three.safetensors", "..", "x" * 300, "one.safetensors\x00", "\ud800"]
    )
    def test_files_that_are_missing(self, tmp_path, file):
        write(tmp_path, "sharded")
        write_index(tmp_path, {NAME: file})
        refuse(tmp_path, INDEX, NAME, "is missing")

    @pytest.mark.parametrize("file", ["a.bin", "pytorch_model.BIN", "a.pt", "b.pkl"])
    @pytest.mark.parametrize("there", [True, False])
    def test_pickles_are_never_opened(self, tmp_path, file, there):
        write(tmp_path, "sharded")
        if there:
            (tmp_path / file).write_bytes(b"\x80\x04}.")
        write_index(tmp_path, {NAME: file})
        refuse(tmp_path, INDEX, f"{file} is a pickle, which is never loaded. Convert")

    @pytest.mark.parametrize("weight_map", [None, [], {}, "x", 5, ["one.safetensors"]])
    def test_weight_map(self, tmp_path, weight_map):
        write(tmp_path, "sharded")
        write_index(tmp_path, weight_map)
        refuse(tmp_path, INDEX, "`weight_map` must map tensors to files")

    @pytest.mark.parametrize("text", ["", "{", "[]", "5", "[" * 10**5])
    def test_index_that_is_broken(self, tmp_path, text):
        write(tmp_path, "sharded")
        (tmp_path / INDEX).write_text(text, encoding="utf-8")
        refuse(tmp_path, INDEX)

    def test_index_that_is_a_directory(self, tmp_path):
        write(tmp_path, "sharded")
        (tmp_path / INDEX).unlink()
        (tmp_path / INDEX).mkdir()
        refuse(tmp_path, f"{WEIGHTS} is missing or not a file")

    def test_shard_without_a_tensor_of_the_index(self, tmp_path):
        write(tmp_path, "sharded")
        (tmp_path / "one.safetensors").write_bytes(
            (tmp_path / "two.safetensors").read_bytes()
        )
        refuse(tmp_path, "one.safetensors lacks", INDEX)

    def test_shard_that_is_broken(self, tmp_path):
        write(tmp_path, "sharded")
        (tmp_path / "two.safetensors").write_bytes(b"{}")
        refuse(tmp_path, "two.safetensors cannot be read")

    def test_tensor_in_two_shards(self, tmp_path):
        write(tmp_path, "sharded")
        path = tmp_path / "one.safetensors"
        both = safetensors.numpy.load_file(path)
        both |= {"classifier.weight": np.zeros((3, 16), np.float32)}
        both |= {"classifier.bias": np.zeros(3, np.float32)}
        safetensors.numpy.save_file(both, path)
        refuse(tmp_path, "two.safetensors", "classifier.", "is there twice")

    def test_tensor_that_only_a_shard_names_is_taken(self, tmp_path):
        """As transformers does, which reads shards whole."""
        write(tmp_path, "sharded")
        content = json.loads((tmp_path / INDEX).read_text())["weight_map"]
        del content["classifier.bias"]
        write_index(tmp_path, content)
        bias = tensors_of(KINDS["sharded"])["classifier.bias"]
        head = kbl.load_model(tmp_path).get_layer("head")
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(head.dense.bias), bias)


SIZES = [
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
]
# Fields that are refused if they are wrong, and values that are right.
FIELDS = {
    "encoder": {
        **dict.fromkeys(SIZES, ()),
        "type_vocab_size": (),
        "hidden_dropout_prob": (0,),
        "attention_probs_dropout_prob": (0,),
        "layer_norm_eps": (1.5, HUGE),
        "initializer_range": (1.5, HUGE),
        "hidden_act": (),
        "model_type": (),
        "tie_word_embeddings": (None, True),
        "position_embedding_type": (None,),
        "is_decoder": (None, 0),
    },
    "classifier": {
        "id2label": (),
        "problem_type": (None,),
        "classifier_dropout": (None, 0),
    },
    "deberta": {
        **dict.fromkeys(SIZES[:5], ()),
        "relative_attention": (True,),
        "position_biased_input": (None,),
        "share_att_key": (True, None),
        "max_relative_positions": (-1, 0, HUGE),
        "position_buckets": (-1, 0),
        "pos_att_type": (None, [], {}, 0),
        "norm_rel_ebd": ("x", "1"),
        "conv_kernel_size": (0,),
        "conv_act": (),
        "pooler_hidden_act": (),
        "pooler_dropout": (None, 0),
        "cls_dropout": (None, 0),
        "attention_head_size": (),
        "pooler_hidden_size": (),
    },
    "albert": {
        **dict.fromkeys(SIZES, ()),
        "embedding_size": (None,),
        "num_hidden_groups": (None,),
        "classifier_dropout_prob": (None, 0),
        "inner_group_num": (None, True),
    },
}


class TestConfig:
    @pytest.mark.parametrize("kind", FIELDS)
    def test_wrong_values(self, tmp_path, kind):
        write(tmp_path, kind)
        path = tmp_path / "config.json"
        config = json.loads(path.read_text())
        for field, right in FIELDS[kind].items():
            for value in WRONG:
                if any(type(x) is type(value) and x == value for x in right):
                    continue
                if field == "id2label" and value in (None, {}):
                    continue  # two labels, by default
                path.write_text(json.dumps({**config, field: value}))
                started = peak()
                refuse(tmp_path)
                assert peak() - started < 100, (field, value)

    @pytest.mark.parametrize(
        ("kind", "field"),
        [
            *(("encoder", name) for name in [*SIZES, "type_vocab_size"]),
            ("deberta", "position_buckets"),
            ("deberta", "conv_kernel_size"),
            ("deberta", "num_hidden_layers"),
            ("albert", "num_hidden_layers"),
            ("albert", "embedding_size"),
        ],
    )
    def test_huge_sizes(self, tmp_path, kind, field):
        """Refused by what is stored, before such a model is built."""
        before = peak()
        for size in (10**5, 10**6, HUGE, 10**30):
            write(tmp_path, kind, **{field: size})
            theirs = () if field == "position_buckets" else (f"`{field}`",)
            refuse(tmp_path, "config.json", *theirs)
        assert peak() - before < 100

    @pytest.mark.parametrize("terms", [[" c2p"], ["C2P"], ["p2c|c2p"], ["c2p", ""]])
    def test_terms_that_transformers_would_pass_over(self, tmp_path, terms):
        """It strips a string, not the entries of a list."""
        write(tmp_path, "deberta", pos_att_type=terms)
        refuse(tmp_path, "config.json", "`pos_att_type`", str(terms))

    def test_huge_number_of_labels(self, tmp_path):
        write(tmp_path, "classifier", id2label=None, num_labels=HUGE)
        refuse(tmp_path, "config.json", "`num_labels`")
        for count in ("x", 0, -1, 1.5, [], True):
            write(tmp_path, "classifier", id2label=None, num_labels=count)
            refuse(tmp_path, "config.json", "`num_labels`")

    @pytest.mark.parametrize("kind", ["classifier", "encoder"])
    def test_huge_map_of_labels(self, tmp_path, kind):
        labels = {str(i): "x" for i in range(200_000)}
        write(tmp_path, kind, id2label=labels, num_labels=3)
        before = peak()
        refuse(tmp_path, "config.json: `id2label` must fit the stored weights")
        write(tmp_path, kind, id2label=list(labels))
        refuse(tmp_path, "config.json: `id2label` must fit the stored weights")
        assert peak() - before < 200

    def test_messages_have_the_names_of_the_file(self, tmp_path):
        write(tmp_path, hidden_size="x")
        refuse(
            tmp_path, "config.json", "(`hidden_dim` is `hidden_size` in config.json)"
        )

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"{",
            b"[]",
            b"5",
            b"null",
            b'"bert"',
            b"[" * 10**6,
            b'{"model_type":' * 10**5,
            b"\xff\xfe",
            b"\xef\xbb\xbf{}",
            b'{"a": ' + b"9" * 10**4 + b"}",
            b'{"model_type": "\\ud800"}',
            b"{}",
        ],
        ids=lambda text: text[:12],
    )
    def test_broken_json(self, tmp_path, text):
        write(tmp_path)
        (tmp_path / "config.json").write_bytes(text)
        refuse(tmp_path, "config.json")

    def test_a_key_that_stands_twice(self, tmp_path):
        write(tmp_path)
        path = tmp_path / "config.json"
        path.write_text(path.read_text()[:-1] + ', "hidden_size": 16}')
        refuse(tmp_path, "config.json", "the key 'hidden_size' is there twice")


def load_tokenizer(directory):
    kbl.load_tokenizer(directory)


class TestTokenizers:
    @pytest.mark.parametrize("part", ["model", "normalizer", "pre_tokenizer"])
    @pytest.mark.parametrize("value", [None, [], {}, "x", 5, [1]])
    def test_parts(self, tmp_path, part, value):
        self._write(tmp_path, {**TOKENIZER_JSON, part: value})
        refuse(tmp_path, "tokenizer.json", f"`{part}`", load=load_tokenizer)

    @pytest.mark.parametrize(
        ("part", "key"),
        [
            ("model", "type"),
            ("model", "vocab"),
            ("model", "unk_token"),
            ("model", "max_input_chars_per_word"),
            ("normalizer", "lowercase"),
            ("normalizer", "strip_accents"),
            ("normalizer", "handle_chinese_chars"),
        ],
    )
    def test_fields(self, tmp_path, part, key):
        for value in ([], {}, "x", -1, 0, 1.5, [1]):
            content = {**TOKENIZER_JSON, part: {**TOKENIZER_JSON[part], key: value}}
            self._write(tmp_path, content)
            refuse(tmp_path, load=load_tokenizer)

    @pytest.mark.parametrize(
        "vocab",
        [
            {"[PAD]": 0, "[UNK]": 2},
            {"[PAD]": 0, "[UNK]": 0},
            {"[PAD]": 10**12},
            {"[PAD]": False},
            {"[PAD]": 0.0},
            {"[PAD]": []},
            {"[PAD]": "0"},
            {"[PAD]": -1},
        ],
        ids=str,
    )
    def test_ids(self, tmp_path, vocab):
        content = {**TOKENIZER_JSON, "model": {"type": "WordPiece", "vocab": vocab}}
        self._write(tmp_path, content)
        refuse(tmp_path, "`model.vocab`", "0 to n - 1", load=load_tokenizer)

    @pytest.mark.parametrize("text", ["", "{", "[]", "5", "[" * 10**5])
    @pytest.mark.parametrize(
        "file",
        [
            "tokenizer.json",
            "tokenizer_config.json",
            "config.json",
            "sentence_bert_config.json",
        ],
    )
    def test_broken_json(self, tmp_path, file, text):
        self._write(tmp_path)
        (tmp_path / file).write_text(text, encoding="utf-8")
        refuse(tmp_path, file, load=kbl.load_preprocessor)

    @pytest.mark.parametrize(
        ("key", "wrong"),
        [
            ("do_lower_case", ["yes", 1, None, []]),
            ("strip_accents", ["no", 0, []]),
            ("tokenize_chinese_chars", ["no", 0, None, {}]),
            ("do_basic_tokenize", [False]),
            ("cls_token", [5, True, [], {}, {"content": None}, {"content": 5}]),
            ("pad_token", [5, ["[PAD]"], {"lstrip": False}]),
            ("mask_token", [5, [], {"content": []}]),
            ("tokenizer_class", ["GPT2Tokenizer", "", 5, ["BertTokenizer"], {}]),
            ("truncation_side", ["left", 5]),
            ("padding_side", ["left", []]),
            ("model_max_length", ["x", -1, 0, True, [], {}, float("nan"), 1]),
        ],
    )
    def test_tokenizer_config(self, tmp_path, key, wrong):
        for value in wrong:
            self._write(tmp_path)
            (tmp_path / "tokenizer_config.json").write_text(json.dumps({key: value}))
            refuse(tmp_path, load=kbl.load_preprocessor)

    @pytest.mark.parametrize("limit", [1e30, float("inf"), 10**30, None])
    def test_no_limit(self, tmp_path, limit):
        self._write(tmp_path)
        content = json.dumps({"model_max_length": limit})
        (tmp_path / "tokenizer_config.json").write_text(content)
        assert kbl.load_preprocessor(tmp_path).sequence_length == 512

    @pytest.mark.parametrize("value", ["x", -1, 0, [], {}, True, float("nan"), 2])
    def test_lengths(self, tmp_path, value):
        fields = {
            "config.json": "max_position_embeddings",
            "sentence_bert_config.json": "max_seq_length",
        }
        for file, field in fields.items():
            self._write(tmp_path)
            (tmp_path / file).write_text(json.dumps({field: value}))
            refuse(tmp_path, load=kbl.load_preprocessor)
            (tmp_path / file).unlink()

    def test_padding_id_of_another_type(self, tmp_path):
        self._write(tmp_path)
        config = {"model_type": "roberta", "pad_token_id": "x"}
        (tmp_path / "config.json").write_text(json.dumps(config))
        refuse(tmp_path, "config.json", "`pad_token_id`", load=kbl.load_preprocessor)

    @pytest.mark.parametrize("pair", [5, "x", {}, [5], ["Sequence"], [None]])
    def test_template(self, tmp_path, pair):
        single = [{"SpecialToken": {"id": x}} for x in ("[CLS]", "[SEP]")]
        single.insert(1, {"Sequence": {"id": "A"}})
        processor = {"type": "TemplateProcessing", "single": single, "pair": pair}
        self._write(tmp_path, {**TOKENIZER_JSON, "post_processor": processor})
        refuse(tmp_path, "`post_processor.pair`", load=kbl.load_preprocessor)

    def _write(self, directory, content=TOKENIZER_JSON):
        text = json.dumps(content)
        (directory / "tokenizer.json").write_text(text, encoding="utf-8")


PREFIX = "sentence_transformers.models."
MODULES = [
    {"path": "", "type": f"{PREFIX}Transformer"},
    {"path": "1_Pooling", "type": f"{PREFIX}Pooling"},
]


class TestSentenceTransformers:
    @pytest.mark.parametrize(
        "text", ["", "{", "5", "{}", "[]", '["x"]', "[" * 10**5, '[{"type": 5}]']
    )
    def test_modules_that_are_broken(self, tmp_path, text):
        self._write(tmp_path)
        (tmp_path / "modules.json").write_text(text)
        refuse(tmp_path, "modules.json")

    @pytest.mark.parametrize(
        "folder", ["..", "../x", "/tmp", "a/b", "a\\b", "..\\x", None, 5, [], "."]
    )
    @pytest.mark.parametrize("place", [0, 1])
    def test_folders_elsewhere(self, tmp_path, place, folder):
        modules = [dict(module) for module in MODULES]
        modules[place]["path"] = folder
        self._write(tmp_path, modules)
        refuse(tmp_path, "modules.json", "must be a name in the same directory")

    @pytest.mark.parametrize("kinds", [["LSTM"], ["Pooling", "Transformer"], ["x.y"]])
    def test_other_modules(self, tmp_path, kinds):
        more = [{"path": "x", "type": PREFIX + kind} for kind in kinds]
        self._write(tmp_path, MODULES + more)
        refuse(tmp_path, "modules.json", "Transformer, Pooling and perhaps")

    @pytest.mark.parametrize(
        "pooling",
        [
            {},
            {"pooling_mode_mean_tokens": "yes"},
            {"pooling_mode_mean_tokens": 1},
            {"pooling_mode": []},
            {"pooling_mode": "median"},
            {"pooling_mode": [["mean"]]},
            {"pooling_mode": None},
        ],
        ids=str,
    )
    def test_poolings(self, tmp_path, pooling):
        self._write(tmp_path)
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
        refuse(tmp_path / "1_Pooling", load=lambda _: kbl.load_model(tmp_path))

    @pytest.mark.parametrize(
        "text",
        [
            *(None, "5", "{}", '{"activation_function": []}', '{"out_features": [1]}'),
            '{"in_features": 3, "out_features": 2, "bias": false}',  # not the encoder's
        ],
    )
    def test_dense_modules_that_are_broken(self, tmp_path, text):
        self._write(tmp_path, [*MODULES, {"path": "2_Dense", "type": f"{PREFIX}Dense"}])
        pooling = json.dumps({"pooling_mode": "mean"})
        (tmp_path / "1_Pooling" / "config.json").write_text(pooling)
        if text is not None:
            (tmp_path / "2_Dense").mkdir()
            (tmp_path / "2_Dense" / "config.json").write_text(text)
            weights = {"linear.weight": np.ones((2, 3), "float32")}
            safetensors.numpy.save_file(weights, tmp_path / "2_Dense" / WEIGHTS)
        refuse(tmp_path / "2_Dense", load=lambda _: kbl.load_model(tmp_path))

    def _write(self, directory, modules=MODULES):
        write(directory, "encoder")
        (directory / "modules.json").write_text(json.dumps(modules))
        (directory / "1_Pooling").mkdir()


def mutated(content, random_, start=0):
    """Bytes with a few flipped, deleted, doubled or replaced."""
    content = bytearray(content)
    for _ in range(random_.choice([1, 1, 2, 5])):
        i = random_.randrange(start, len(content))
        j = min(i + random_.choice([1, 2, 8, 50]), len(content))
        change = random_.randrange(4)
        if change == 0:
            content[i] ^= 1 << random_.randrange(8)
        elif change == 1:
            del content[i:j]
        elif change == 2:
            content[i:i] = content[i:j]
        else:
            content[i:j] = random_.choice([b"0", b"-1", b"null", b"[]", b"1e99", b"{}"])
    return bytes(content)


SCALARS = [None, True, 0, -1, 2, 3, 7, 1e30, "", "gelu", [], {}, HUGE, "\ud800"]


class TestRandomDamage:
    """A model or a `ValueError` that names the directory; nothing else."""

    ROUNDS = 60

    def _try(self, load, directory):
        with warnings.catch_warnings(action="ignore"):
            try:
                load(directory)
                return
            except ValueError as error:
                message = str(error)
        assert str(directory) in message

    def test_weights(self, tmp_path):
        path = write(tmp_path, "albert") / WEIGHTS
        header, data = parts(path)
        text = json.dumps(header).encode()
        for seed in range(self.ROUNDS):
            random_ = random.Random(seed)
            path.write_bytes(join(mutated(text, random_), data))
            self._try(kbl.load_model, tmp_path)
            whole = join(text, data)
            path.write_bytes(mutated(whole[: len(text)], random_) + whole[len(text) :])
            self._try(kbl.load_model, tmp_path)

    def test_config(self, tmp_path):
        path = write(tmp_path, "albert") / "config.json"
        content = path.read_bytes()
        config = json.loads(content)
        for seed in range(self.ROUNDS):
            random_ = random.Random(seed)
            path.write_bytes(mutated(content, random_))
            self._try(kbl.load_model, tmp_path)
            field = random_.choice(sorted(config))
            changed = {**config, field: random_.choice(SCALARS)}
            path.write_text(json.dumps(changed))
            self._try(kbl.load_model, tmp_path)

    def test_tokenizer(self, tmp_path):
        path = tmp_path / "tokenizer.json"
        content = json.dumps(TOKENIZER_JSON).encode()
        config = json.dumps({"do_lower_case": True, "model_max_length": 64}).encode()
        for seed in range(self.ROUNDS):
            random_ = random.Random(seed)
            path.write_bytes(mutated(content, random_))
            (tmp_path / "tokenizer_config.json").write_bytes(mutated(config, random_))
            self._try(lambda x: kbl.load_preprocessor(x)(["e é"]), tmp_path)


def test_vocabularies_that_are_no_text(tmp_path):
    for content in (b"", b"\xff\xfe\x00", b"[PAD]\n[PAD]\n", b"\x00"):
        (tmp_path / "vocab.txt").write_bytes(content)
        refuse(tmp_path, load=load_tokenizer)

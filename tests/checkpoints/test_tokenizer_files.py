"""Tokenizers and preprocessors from the files that checkpoints have."""

import copy
import json
from types import MappingProxyType

import pytest

from keras_bert_lite import load_preprocessor, load_tokenizer
from tests import tiny
from tests.checkpoints.tokenizer_json import PIECES, TOKENIZER_JSON


def write(directory, **files):
    """Writes files named without their ending: text as .txt, the rest as .json."""
    for name, content in files.items():
        text = isinstance(content, str)
        path = directory / f"{name}{'.txt' if text else '.json'}"
        path.write_text(content if text else json.dumps(content), encoding="utf-8")
    return directory


def changed(part, **changes):
    content = copy.deepcopy(TOKENIZER_JSON)
    content[part].update(changes)
    return content


@pytest.fixture
def vocab_txt():
    return "\n".join(PIECES) + "\n"


def ids(tokenizer, text):
    return tokenizer(text).numpy().tolist()


class TestSources:
    def test_tokenizer_json_only(self, tmp_path):
        tokenizer = load_tokenizer(write(tmp_path, tokenizer=TOKENIZER_JSON))
        assert tokenizer.get_vocabulary() == PIECES
        assert ids(tokenizer, "É日日 [MASK]ee") == [5, 8, 8, 1, 1, 1, 5, 10]

    def test_vocab_txt_only(self, tmp_path, vocab_txt):
        tokenizer = load_tokenizer(str(write(tmp_path, vocab=vocab_txt)))
        assert tokenizer.get_vocabulary() == PIECES
        assert ids(tokenizer, "É日日") == [5, 8, 8]

    def test_tokenizer_json_goes_first(self, tmp_path):
        other = "\n".join(reversed(PIECES))
        tokenizer = load_tokenizer(
            write(tmp_path, tokenizer=TOKENIZER_JSON, vocab=other)
        )
        assert tokenizer.get_vocabulary() == PIECES

    def test_order_is_that_of_the_ids(self, tmp_path):
        vocab = dict(reversed(TOKENIZER_JSON["model"]["vocab"].items()))
        content = changed("model", vocab=vocab)
        tokenizer = load_tokenizer(write(tmp_path, tokenizer=content))
        assert tokenizer.get_vocabulary() == PIECES

    def test_changes_go_last(self, tmp_path):
        directory = write(
            tmp_path,
            tokenizer=TOKENIZER_JSON,
            tokenizer_config={"do_lower_case": True},
        )
        tokenizer = load_tokenizer(
            directory, lowercase=False, special_tokens_in_text=True
        )
        assert ids(tokenizer, "E[MASK]é") == [7, 4, 6]


class TestSwitches:
    def test_of_the_normalizer(self, tmp_path):
        content = changed(
            "normalizer",
            lowercase=False,
            strip_accents=True,
            handle_chinese_chars=False,
        )
        tokenizer = load_tokenizer(write(tmp_path, tokenizer=content))
        assert ids(tokenizer, "É日日") == [1]
        assert ids(tokenizer, "É 日日") == [7, 9]

    def test_of_the_model(self, tmp_path):
        vocab = {"<unk>": len(PIECES), **TOKENIZER_JSON["model"]["vocab"]}
        content = changed(
            "model", vocab=vocab, unk_token="<unk>", max_input_chars_per_word=2
        )
        tokenizer = load_tokenizer(write(tmp_path, tokenizer=content))
        assert tokenizer.unknown_id == len(PIECES)
        assert ids(tokenizer, "ee eee") == [5, 10, len(PIECES)]

    @pytest.mark.parametrize("source", ["tokenizer", "vocab"])
    @pytest.mark.parametrize(
        ("config", "expected"),
        [
            ({}, [5, 5, 5, 8, 8]),
            ({"do_lower_case": False}, [7, 5, 6, 8, 8]),
            ({"do_lower_case": True, "strip_accents": False}, [5, 5, 6, 8, 8]),
            ({"do_lower_case": False, "strip_accents": True}, [7, 5, 5, 8, 8]),
            ({"strip_accents": None}, [5, 5, 5, 8, 8]),
            ({"tokenize_chinese_chars": False}, [5, 5, 5, 9]),
            ({"do_basic_tokenize": True, "never_split": None}, [5, 5, 5, 8, 8]),
        ],
        ids=str,
    )
    def test_config_overrides(self, tmp_path, vocab_txt, source, config, expected):
        files = {"tokenizer": TOKENIZER_JSON, "vocab": vocab_txt}
        directory = write(tmp_path, tokenizer_config=config, **{source: files[source]})
        assert ids(load_tokenizer(directory), "E e é 日日") == expected

    @pytest.mark.parametrize("as_dict", [False, True])
    def test_special_tokens_of_the_config(self, tmp_path, as_dict):
        names = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
        keys = ["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"]
        config = {
            key: {"content": name, "lstrip": False} if as_dict else name
            for key, name in zip(keys, names, strict=True)
        }
        vocab = "\n".join([*names, "e"])
        tokenizer = load_tokenizer(
            write(tmp_path, vocab=vocab, tokenizer_config=config),
            special_tokens_in_text=True,
        )
        assert tokenizer.special_tokens == ["<unk>", "<s>", "</s>", "<pad>", "<mask>"]
        assert ids(tokenizer, "<s>e<mask>x</s>") == [2, 5, 4, 1, 3]

    def test_null_tokens_keep_the_defaults(self, tmp_path, vocab_txt):
        config = {"pad_token": None, "mask_token": None}
        directory = write(tmp_path, vocab=vocab_txt, tokenizer_config=config)
        special_tokens = load_tokenizer(directory).special_tokens
        assert {"[PAD]", "[MASK]"} <= set(special_tokens)


class TestRefusals:
    @pytest.mark.parametrize(
        ("part", "key", "value"),
        [
            ("model", "type", "WordLevel"),
            ("model", "continuing_subword_prefix", "@@"),
            ("model", "continuing_subword_prefix", None),
            ("normalizer", "type", "Sequence"),
            ("normalizer", "clean_text", False),
            ("pre_tokenizer", "type", "Whitespace"),
        ],
    )
    def test_other_kinds(self, tmp_path, part, key, value):
        directory = write(tmp_path, tokenizer=changed(part, **{key: value}))
        with pytest.raises(
            ValueError, match=rf"`{part}\.{key}` must be .*Received: {value!r}"
        ):
            load_tokenizer(directory)

    @pytest.mark.parametrize("part", ["model", "normalizer", "pre_tokenizer"])
    @pytest.mark.parametrize("missing", [True, False])
    def test_missing_parts(self, tmp_path, part, missing):
        content = {**TOKENIZER_JSON, part: None}
        if missing:
            del content[part]
        with pytest.raises(ValueError, match=rf"`{part}` must be an object.*None"):
            load_tokenizer(write(tmp_path, tokenizer=content))

    @pytest.mark.parametrize("part", ["model", "normalizer", "pre_tokenizer"])
    def test_parts_that_are_no_objects(self, tmp_path, part):
        content = {**TOKENIZER_JSON, part: ["BertNormalizer"]}
        with pytest.raises(ValueError, match=part):
            load_tokenizer(write(tmp_path, tokenizer=content))

    @pytest.mark.parametrize(
        "vocab",
        [{"[PAD]": 0, "[UNK]": 2}, {"[PAD]": 1, "[UNK]": 2}, {"a": 0, "b": 0}],
    )
    def test_ids_with_gaps(self, tmp_path, vocab):
        directory = write(tmp_path, tokenizer=changed("model", vocab=vocab))
        with pytest.raises(
            ValueError, match=r"ids of `model\.vocab` must be 0 to n - 1"
        ):
            load_tokenizer(directory)

    @pytest.mark.parametrize("vocab", [None, {}, ["[PAD]"]])
    def test_vocab_that_is_no_map(self, tmp_path, vocab):
        directory = write(tmp_path, tokenizer=changed("model", vocab=vocab))
        with pytest.raises(ValueError, match=r"`model\.vocab` must map pieces to ids"):
            load_tokenizer(directory)

    @pytest.mark.parametrize("vocab", [{"a": 0, "b": "1"}, {"a": None, "b": 1}])
    def test_ids_that_are_no_integers(self, tmp_path, vocab):
        directory = write(tmp_path, tokenizer=changed("model", vocab=vocab))
        with pytest.raises(ValueError, match=r"`model\.vocab`"):
            load_tokenizer(directory)

    @pytest.mark.parametrize("missing", PIECES[:4])
    def test_missing_special_tokens(self, tmp_path, vocab_txt, missing):
        pieces = [piece for piece in PIECES if piece != missing]
        with pytest.raises(ValueError, match=r"`vocabulary` must contain the"):
            load_tokenizer(write(tmp_path, vocab="\n".join(pieces)))

    @pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
    @pytest.mark.parametrize("text", ['{"model": ', "[]", "", "\xff"])
    def test_broken_json(self, tmp_path, vocab_txt, name, text):
        write(tmp_path, vocab=vocab_txt)
        (tmp_path / name).write_bytes(text.encode("latin-1"))
        with pytest.raises(ValueError, match=name.replace(".", r"\.")):
            load_tokenizer(tmp_path)

    def test_vocab_txt_that_is_not_utf8(self, tmp_path):
        (tmp_path / "vocab.txt").write_bytes("\n".join(PIECES).encode("utf-16"))
        with pytest.raises(ValueError, match=r"vocab\.txt is not a UTF-8 text file"):
            load_tokenizer(tmp_path)

    @pytest.mark.parametrize("load", [load_tokenizer, load_preprocessor])
    def test_directory_without_them(self, tmp_path, load):
        with pytest.raises(ValueError, match=r"neither tokenizer\.json nor vocab\.txt"):
            load(tmp_path)

    @pytest.mark.parametrize("load", [load_tokenizer, load_preprocessor])
    def test_no_directory(self, tmp_path, load):
        with pytest.raises(ValueError, match=r"Received: .*nowhere"):
            load(tmp_path / "nowhere")
        with pytest.raises(ValueError, match="Received: 'https://x/y'"):
            load("https://x/y")


class TestLength:
    @pytest.mark.parametrize(
        ("files", "length"),
        [
            ({}, 512),
            ({"tokenizer_config": {"model_max_length": 1e30}}, 512),
            ({"tokenizer_config": {"model_max_length": int(1e30)}}, 512),
            ({"tokenizer_config": {"model_max_length": 64}}, 64),
            ({"config": {"max_position_embeddings": 128}}, 128),
            ({"config": {"max_position_embeddings": 1024}}, 1024),
            ({"config": {"hidden_size": 16}}, 512),
            (
                {
                    "config": {"max_position_embeddings": 128},
                    "tokenizer_config": {"model_max_length": 1e30},
                },
                128,
            ),
            (
                {
                    "config": {"max_position_embeddings": 128},
                    "tokenizer_config": {"model_max_length": 512},
                },
                128,
            ),
            (
                {
                    "config": {"max_position_embeddings": 512},
                    "tokenizer_config": {"model_max_length": 512},
                    "sentence_bert_config": {"max_seq_length": 256},
                },
                256,
            ),
            (
                {
                    "config": {"max_position_embeddings": 128},
                    "sentence_bert_config": {"max_seq_length": 256},
                },
                128,
            ),
            ({"sentence_bert_config": {"max_seq_length": None}}, 512),
        ],
        ids=str,
    )
    def test_comes_from_the_files(self, tmp_path, vocab_txt, files, length):
        preprocessor = load_preprocessor(write(tmp_path, vocab=vocab_txt, **files))
        assert preprocessor.sequence_length == length
        assert preprocessor.padding == "longest"

    def test_blocks_of_tokenizer_json_are_ignored(self, tmp_path):
        preprocessor = load_preprocessor(write(tmp_path, tokenizer=TOKENIZER_JSON))
        assert preprocessor.sequence_length == 512
        assert preprocessor(["e " * 20])["token_ids"].shape == (1, 22)
        assert preprocessor(["e"])["token_ids"].shape == (1, 3)

    def test_changes_go_last(self, tmp_path, vocab_txt):
        directory = write(
            tmp_path, vocab=vocab_txt, config={"max_position_embeddings": 128}
        )
        preprocessor = load_preprocessor(
            directory, sequence_length=8, padding="max_length"
        )
        assert preprocessor(["e " * 20])["token_ids"].shape == (1, 8)
        unlimited = load_preprocessor(directory, sequence_length=None)
        assert unlimited(["e " * 200])["token_ids"].shape == (1, 202)


class TestOlderFiles:
    """special_tokens_map.json and added_tokens.json, beside vocab.txt alone."""

    TOKENS = MappingProxyType({"[CLS]": "<cls>", "[SEP]": "<sep>"})

    def _write(self, directory, **files):
        pieces = [self.TOKENS.get(x, x) for x in tiny.VOCABULARY]
        (directory / "vocab.txt").write_text("\n".join(pieces))
        for name, content in files.items():
            (directory / f"{name}.json").write_text(json.dumps(content))
        return directory

    def test_special_tokens(self, tmp_path):
        tokens = {"cls_token": "<cls>", "sep_token": {"content": "<sep>"}}
        more = {"additional_special_tokens": ["the"]}
        self._write(tmp_path, special_tokens_map={**tokens, **more})
        tokenizer = load_tokenizer(tmp_path)
        assert tokenizer.roles["cls"] == "<cls>"
        assert tokenizer.roles["sep"] == "<sep>"
        assert tokenizer.additional_special_tokens == ["the"]
        more = {"additional_special_tokens": ["<x>"]}
        self._write(tmp_path, special_tokens_map={**tokens, **more})
        with pytest.raises(ValueError, match=r"tokens_map.json: .*of the vocabulary"):
            load_tokenizer(tmp_path)

    def test_the_newer_file_counts_if_it_has_all(self, tmp_path):
        config = {
            "cls_token": "<cls>",
            "sep_token": "<sep>",
            "added_tokens_decoder": {},
        }
        self._write(
            tmp_path,
            special_tokens_map={"cls_token": "[CLS]", "sep_token": "[SEP]"},
            tokenizer_config=config,
        )
        assert load_tokenizer(tmp_path).roles["cls"] == "<cls>"

    def test_added_tokens(self, tmp_path):
        tokens = {"cls_token": "<cls>", "sep_token": "<sep>"}
        self._write(tmp_path, special_tokens_map=tokens, added_tokens={"[MASK]": 4})
        load_tokenizer(tmp_path)
        self._write(tmp_path, added_tokens={"<entity>": len(tiny.VOCABULARY)})
        with pytest.raises(ValueError, match=r"added_tokens.json: .*'<entity>' of id"):
            load_tokenizer(tmp_path)
        decoder = {"4": {"content": "[MASK]"}, "3": {"content": "<other>"}}
        self._write(
            tmp_path, tokenizer_config={**tokens, "added_tokens_decoder": decoder}
        )
        with pytest.raises(ValueError, match=r"tokenizer_config.json: .*'<other>' of"):
            load_tokenizer(tmp_path)

    @pytest.mark.parametrize(
        "files",
        [
            {"added_tokens": {"x": "y"}},
            {"added_tokens": {"x": None}},
            {"tokenizer_config": {"added_tokens_decoder": []}},
            {"tokenizer_config": {"added_tokens_decoder": {"x": {"content": "y"}}}},
            {"tokenizer_config": {"added_tokens_decoder": {"1": "y"}}},
        ],
        ids=str,
    )
    def test_broken(self, tmp_path, files):
        (tmp_path / "vocab.txt").write_text("\n".join(tiny.VOCABULARY))
        for name, content in files.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(content))
        with pytest.raises(ValueError, match=r"(tokens|config).json: the added"):
            load_tokenizer(tmp_path)


def test_a_byte_order_mark_is_no_piece(tmp_path):
    lines = "\r\n".join(tiny.VOCABULARY) + "\r\n"
    (tmp_path / "vocab.txt").write_bytes(b"\xef\xbb\xbf" + lines.encode())
    config = b'\xef\xbb\xbf{"do_lower_case": false}'
    (tmp_path / "tokenizer_config.json").write_bytes(config)
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.get_vocabulary() == tiny.VOCABULARY
    assert not tokenizer.lowercase


def test_a_preprocessor_takes_options_of_its_tokenizer(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(tiny.VOCABULARY))
    options = {"sequence_length": 8, "special_tokens_in_text": True}
    preprocessor = load_preprocessor(tmp_path, **options)
    assert preprocessor.sequence_length == 8
    mask = preprocessor.tokenizer.token_to_id("[MASK]")
    assert mask in preprocessor("a [MASK] day")["token_ids"].numpy()
    with pytest.raises(ValueError, match="colour"):
        load_preprocessor(tmp_path, colour="red")

"""Byte-level BPE tokenizers from and to Hugging Face's files."""

import copy
import functools
import json

import pytest
from tokenizers import Tokenizer

from keras_bert_lite.checkpoints.tokenizers import byte_pair as byte_pair_files
from keras_bert_lite.text.byte_pair.patterns import GPT2, LLAMA3
from keras_bert_lite.text.byte_pair.tokenizer import BytePairTokenizer
from keras_bert_lite.text.byte_pair.vocabulary import read_merges, read_pieces
from tests.golden import make_byte_pair_golden
from tests.golden.make_byte_pair_pipelines import PIPELINE_TEXTS
from tests.paths import GOLDEN
from tests.text.byte_pair import pipelines

TEXTS = make_byte_pair_golden.TEXTS
ROLES = {
    "modernbert": {
        "unknown_token": "[UNK]",
        "pad_token": "[PAD]",
        "mask_token": "[MASK]",
    },
    "eurobert": {"pad_token": "<|pad|>", "mask_token": "<|mask|>"},
}
NFC = {"type": "NFC"}
GEMMA_SPLIT = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}


@functools.cache
def golden_pipelines():
    content = (GOLDEN / "byte_pair_pipelines.json").read_text(encoding="utf-8")
    return json.loads(content)["pipelines"]


def split(regex, behavior="Isolated", invert=False, use_regex=False):
    """A `Split` in front of `ByteLevel`."""
    words = {"pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}
    levels = {"add_prefix_space": False, "use_regex": use_regex}
    return {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", **words},
            {"type": "ByteLevel", "trim_offsets": True, **levels},
        ],
    }


@pytest.fixture(scope="module")
def learned():
    return make_byte_pair_golden.train()


@pytest.fixture
def saved(learned):
    """What `tokenizers` itself writes."""
    return json.loads(make_byte_pair_golden.reference(*learned).to_str())


def read(directory, content):
    (directory / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return byte_pair_files.arguments_from(directory)


def changed(content, path, value):
    content = copy.deepcopy(content)
    *parents, key = path.split(".")
    part = content
    for name in parents:
        part = part[name]
    part[key] = value
    return content


class TestReading:
    def test_tokenizer_json(self, learned, saved, tmp_path):
        assert all(isinstance(merge, list) for merge in saved["model"]["merges"])
        pieces, merges = learned
        expected = {
            "vocabulary": pieces,
            "merges": merges,
            "add_prefix_space": False,
            "trim_offsets": True,
            "added_tokens": [],
            "additional_special_tokens": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
            "token_flags": {"<mask>": ["lstrip"]},
            "normalization": [],
            "split_pattern": GPT2,
            "ignore_merges": False,
        }
        assert read(tmp_path, saved) == expected
        assert read(tmp_path, changed(saved, "model.merges", merges)) == expected

    def test_vocab_json_and_merges_txt(self, learned, tmp_path):
        pieces, merges = learned
        ids = {piece: i for i, piece in enumerate(pieces)}
        (tmp_path / "vocab.json").write_text(json.dumps(ids))
        assert byte_pair_files.arguments_from(tmp_path) is None
        (tmp_path / "merges.txt").write_text("\n".join(merges), encoding="utf-8")
        arguments = byte_pair_files.arguments_from(tmp_path)
        assert arguments == {"vocabulary": pieces, "merges": merges}

    def test_another_model(self, saved, tmp_path):
        assert read(tmp_path, changed(saved, "model.type", "WordPiece")) is None
        assert byte_pair_files.arguments_from(tmp_path / "none") is None

    def test_added_tokens_beyond_the_vocabulary(self, learned, saved, tmp_path):
        del saved["model"]["vocab"]["<mask>"]
        assert read(tmp_path, saved)["vocabulary"] == learned[0]

    @pytest.mark.parametrize("wrap", [False, True])
    def test_switches(self, saved, tmp_path, wrap):
        content = changed(saved, "post_processor.trim_offsets", False)
        content["pre_tokenizer"]["add_prefix_space"] = True
        if wrap:
            parts = {"type": "Sequence", "pretokenizers": [content["pre_tokenizer"]]}
            content["pre_tokenizer"] = parts
        arguments = read(tmp_path, content)
        assert arguments["add_prefix_space"] is True
        assert arguments["trim_offsets"] is False
        untrimmed = read(tmp_path, changed(saved, "post_processor", None))
        assert untrimmed["trim_offsets"] is False

    @pytest.mark.parametrize(
        "written", [split(LLAMA3), split(LLAMA3, behavior="Removed", invert=True)]
    )
    def test_split_pattern(self, saved, tmp_path, written):
        content = changed(saved, "pre_tokenizer", written)
        content["post_processor"] = None
        assert read(tmp_path, content)["split_pattern"] == LLAMA3

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("model.dropout", 0.1),
            ("model.end_of_word_suffix", "</w>"),
            ("model.continuing_subword_prefix", "##"),
            ("model.byte_fallback", True),
            ("model.ignore_merges", 1.5),
            ("model.vocab", []),
            ("model.vocab", {"a": 7}),
            ("model.merges", None),
            ("pre_tokenizer", None),
            ("pre_tokenizer", {"type": "Whitespace"}),
            ("pre_tokenizer", GEMMA_SPLIT),
            ("pre_tokenizer", {"type": "Sequence", "pretokenizers": [None]}),
            ("pre_tokenizer", split("[a-z]+")),
            ("pre_tokenizer", split(LLAMA3, behavior="Removed")),
            ("pre_tokenizer", split(LLAMA3, use_regex=True)),
            ("normalizer", {"type": "NFKC"}),
            ("normalizer", {"type": "Sequence", "normalizers": [NFC, NFC]}),
            ("post_processor.add_prefix_space", True),
            ("added_tokens", [{"id": 3}]),
        ],
    )
    def test_refused_by_name(self, saved, tmp_path, path, value):
        with pytest.raises(ValueError, match=rf"tokenizer\.json: `?.*{path}"):
            read(tmp_path, changed(saved, path, value))

    def test_not_json(self, tmp_path):
        (tmp_path / "tokenizer.json").write_text("{")
        with pytest.raises(ValueError, match=r"tokenizer\.json cannot be read"):
            byte_pair_files.arguments_from(tmp_path)


@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("special", [False, True])
class TestWriting:
    @pytest.fixture
    def tokenizer(self, learned, prefix, special, tmp_path):
        tokenizer = BytePairTokenizer(
            *learned, add_prefix_space=prefix, special_tokens_in_text=special
        )
        byte_pair_files.write(tokenizer, tmp_path)
        return tokenizer

    def test_tokenizers_reads_it(self, tokenizer, special, tmp_path):
        theirs = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        theirs.encode_special_tokens = not special
        expected = theirs.encode_batch(TEXTS, add_special_tokens=False)
        ids, starts, ends = tokenizer.tokenize_with_offsets(TEXTS)
        assert ids.to_list() == [x.ids for x in expected]
        assert starts.to_list() == [[a for a, _ in x.offsets] for x in expected]
        assert ends.to_list() == [[b for _, b in x.offsets] for x in expected]
        pair = theirs.encode("the", "go").ids
        cls, sep = tokenizer.cls_id, tokenizer.sep_id
        assert [pair[0], pair[-1]] == [cls, sep]
        assert pair.count(sep) == 3

    def test_and_so_does_this_package(self, tokenizer, tmp_path):
        restored = BytePairTokenizer(**byte_pair_files.arguments_from(tmp_path))
        changes = {"name": "x", "special_tokens_in_text": None}
        expected = tokenizer.get_config() | changes
        assert restored.get_config() | changes == expected
        assert read_pieces(tmp_path / "vocab.json") == tokenizer.get_vocabulary()
        assert read_merges(tmp_path / "merges.txt") == tokenizer.get_merges()


@pytest.mark.parametrize("name", pipelines.MAKERS)
class TestPipelines:
    """tokenizer.json of ModernBERT and EuroBERT, read and written again."""

    @pytest.fixture
    def read_again(self, name, tmp_path):
        """The tokenizer, the sections as they were and as they are written."""
        content = golden_pipelines()[name]["content"]
        tokenizer = BytePairTokenizer(
            **read(tmp_path, content), **ROLES[name], special_tokens_in_text=True
        )
        byte_pair_files.write(tokenizer, tmp_path, num_separators=1)
        return tokenizer, content, json.loads((tmp_path / "tokenizer.json").read_text())

    def test_sections_come_back(self, read_again):
        _, content, written = read_again
        for name in ("normalizer", "pre_tokenizer"):
            assert written[name] == content[name]
        merges = [" ".join(merge) for merge in content["model"]["merges"]]
        assert written["model"]["merges"] == merges
        ignored = content["model"]["ignore_merges"]
        assert written["model"]["ignore_merges"] == ignored
        assert written["added_tokens"] == content["added_tokens"]

    def test_tokenizers_reads_it(self, read_again, name, tmp_path):
        theirs = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        encodings = theirs.encode_batch(PIPELINE_TEXTS, add_special_tokens=False)
        rows = golden_pipelines()[name]["rows"]["special_tokens"]
        assert [x.ids for x in encodings] == [row["ids"] for row in rows]
        pair = theirs.encode("the  cafe", "don't").ids
        assert pair == golden_pipelines()[name]["pair"]

    def test_and_so_does_this_package(self, read_again, name, tmp_path):
        tokenizer, *_ = read_again
        again = BytePairTokenizer(
            **byte_pair_files.arguments_from(tmp_path),
            **ROLES[name],
            special_tokens_in_text=True,
            name=tokenizer.name,
        )
        assert again.get_config() == tokenizer.get_config()

    @pytest.mark.parametrize(
        ("template", "changed", "message"),
        [
            ("single", [{"Sequence": {"id": "A", "type_id": 0}}], r"\[CLS\] A \[SEP\]"),
            ("single", {"A": 1}, "a list of special tokens and texts"),
        ],
    )
    def test_templates_that_are_refused(
        self, name, tmp_path, template, changed, message
    ):
        content = copy.deepcopy(golden_pipelines()[name]["content"])
        for part in content["post_processor"].get(
            "processors", [content["post_processor"]]
        ):
            if part["type"] == "TemplateProcessing":
                part[template] = changed
        with pytest.raises(
            ValueError, match=rf"`post_processor.{template}`.*{message}"
        ):
            read(tmp_path, content)

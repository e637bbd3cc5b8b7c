"""SentencePieceTokenizer's arguments from checkpoint files, and back."""

import json

import pytest

from keras_bert_lite.checkpoints.tokenizers.sentence_piece import arguments_from, write
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from tests.checkpoints.sentence_piece_models import MODELS, model
from tests.golden.make_sentence_piece_golden import train

TEXTS = ["Kalo mi ``ne'' <mask> [MASK].", " ru\n ta ☃☃ é e\u0301 ª\u0301", ""]


@pytest.fixture(params=MODELS)
def folder(request, tmp_path):
    (tmp_path / request.param).write_bytes(model(request.param))
    return tmp_path


def change(folder, **changes):
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(content), encoding="utf-8")


def test_nothing_here(tmp_path):
    assert arguments_from(tmp_path) is None
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "WordPiece"}}')
    assert arguments_from(tmp_path) is None


def test_xlm_roberta_ids(tmp_path):
    (tmp_path / "sentencepiece.bpe.model").write_bytes(model("sentencepiece.bpe.model"))
    arguments = arguments_from(tmp_path)
    assert arguments["vocabulary"][:4] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert arguments["vocabulary"][-1] == "<mask>"
    assert arguments["normalization"] == ["charsmap"]


def test_albert_switches(tmp_path):
    (tmp_path / "spiece.model").write_bytes(model("spiece.model"))
    arguments = arguments_from(tmp_path)
    assert arguments["added_tokens"] == ["."]
    steps = ["quotes", "strip_accents", "lowercase", "charsmap"]
    assert arguments["normalization"] == steps
    config = {"do_lower_case": False, "keep_accents": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert arguments_from(tmp_path)["normalization"] == ["quotes", "charsmap"]


def test_deberta_adds_its_mask(tmp_path):
    (tmp_path / "spm.model").write_bytes(model("spm.model"))
    config = {"do_lower_case": True, "split_by_punct": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    arguments = arguments_from(tmp_path)
    assert arguments["vocabulary"][-1] == "[MASK]"
    assert len(arguments["scores"]) == len(arguments["vocabulary"]) - 1
    assert arguments["normalization"][0] == "lowercase"
    assert arguments["split_punctuation"]


def test_family_is_the_configs(tmp_path):
    (tmp_path / "spm.model").write_bytes(model("sentencepiece.bpe.model"))
    (tmp_path / "config.json").write_text('{"model_type": "xlm-roberta"}')
    assert arguments_from(tmp_path)["cls_token"] == "<s>"
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    with pytest.raises(ValueError, match=r"`model_type` must be one of.*'t5'"):
        arguments_from(tmp_path)


def test_written_and_read_again(folder, tmp_path_factory):
    tokenizer = SentencePieceTokenizer(**arguments_from(folder), name="tokens")
    target = tmp_path_factory.mktemp("written")
    write(tokenizer, target)
    again = SentencePieceTokenizer(**arguments_from(target), name="tokens")
    assert again.get_config() == tokenizer.get_config()
    assert again(TEXTS).to_list() == tokenizer(TEXTS).to_list()


def test_written_for_tokenizers(folder):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = SentencePieceTokenizer(**arguments_from(folder))
    count = 2 if (folder / "sentencepiece.bpe.model").exists() else 1
    write(tokenizer, folder, num_separators=count)
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    reference.encode_special_tokens = True
    rows = [x.ids for x in reference.encode_batch(TEXTS, add_special_tokens=False)]
    assert tokenizer(TEXTS).to_list() == rows
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    pair = reference.encode(TEXTS[0], TEXTS[1]).ids
    assert pair == [cls, *rows[0], *[sep] * count, *rows[1], sep]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("normalizer", {"type": "NFD"}),
        ("normalizer", {"type": "Replace", "pattern": {"String": "a"}, "content": ""}),
        ("pre_tokenizer", {"type": "ByteLevel"}),
        ("pre_tokenizer", {"type": "WhitespaceSplit"}),
        ("pre_tokenizer", {"type": "Metaspace", "prepend_scheme": "never"}),
        ("pre_tokenizer", None),
    ],
)
def test_refuses_other_parts(part, value, folder):
    write(SentencePieceTokenizer(**arguments_from(folder)), folder)
    change(folder, **{part: value})
    with pytest.raises(ValueError, match=f"tokenizer.json: `{part}` has a part"):
        arguments_from(folder)


def test_refuses_flags_of_tokens_that_any_text_may_hold(folder):
    write(SentencePieceTokenizer(**arguments_from(folder)), folder)
    token = {"id": 4, "content": "a", "special": False, "lstrip": True}
    change(folder, added_tokens=[token])
    with pytest.raises(
        ValueError, match=r"tokenizer.json: in `added_tokens`, 'a' must"
    ):
        arguments_from(folder)


def test_refuses_a_bpe_model(tmp_path):
    (tmp_path / "spm.model").write_bytes(train(model_type="bpe"))
    with pytest.raises(
        ValueError, match=r"spm.model: .*must be UNIGRAM. Received: BPE"
    ):
        arguments_from(tmp_path)


def test_refuses_what_is_no_model(tmp_path):
    (tmp_path / "spm.model").write_bytes(b"no model at all")
    with pytest.raises(ValueError, match=r"spm.model is not a SentencePiece model"):
        arguments_from(tmp_path)


def test_refuses_an_unknown_token_that_the_model_has_under_another_name(tmp_path):
    (tmp_path / "spm.model").write_bytes(model("spiece.model"))
    with pytest.raises(ValueError, match=r"spm.model: the unknown.*\['<unk>'\].*UNK"):
        arguments_from(tmp_path)
    config = tmp_path / "tokenizer_config.json"
    config.write_text('{"unk_token": "<unk>"}')
    assert arguments_from(tmp_path)["unknown_token"] == "<unk>"

"""Tokenizers of families whose vocabularies are not among the data, out and in.

Each is transformers' own class over a vocabulary of another family.
"""

import json

import pytest

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.tokenizers.saving import write_tokenizer
from tests import tiny
from tests.parity.data import needs_data
from tests.paths import VOCABULARIES
from tests.text.hard_strings import HARD_STRINGS

pytestmark = pytest.mark.parity
transformers = pytest.importorskip("transformers")

TEXTS = [text for text in HARD_STRINGS if "\0" not in text]
PAIRS = ["A first text.", "Ein zweiter!"]


def camembert():
    config = kbl.load_tokenizer(VOCABULARIES / "albert").get_config()
    pieces = zip(config["vocabulary"], config["scores"], strict=False)
    own = {"<s>NOTUSED": 0.0, "<pad>": 0.0, "</s>NOTUSED": 0.0, "<unk>": 0.0}
    own |= {"<unk>NOTUSED": -100.0}
    rest = [(piece, score) for piece, score in pieces if piece not in own]
    return transformers.CamembertTokenizer(
        vocab=[*own.items(), *rest, ("<mask>", 0.0)],
        _spm_precompiled_charsmap=None,
    )


def mpnet():
    pieces = kbl.load_tokenizer(VOCABULARIES / "bert-base-uncased").get_vocabulary()
    own = ["<s>", "<pad>", "</s>"]
    vocabulary = [*own, *pieces, "<mask>"]
    return transformers.MPNetTokenizer(vocab={x: i for i, x in enumerate(vocabulary)})


def deberta():
    tokenizer = kbl.load_tokenizer(VOCABULARIES / "roberta-base")
    own = ["[CLS]", "[PAD]", "[SEP]", "[UNK]"]
    pieces = [*own, *tokenizer.get_vocabulary()[4:-1], "[MASK]"]
    return transformers.DebertaTokenizer(
        vocab={piece: i for i, piece in enumerate(pieces)},
        merges=[tuple(merge.split(" ")) for merge in tokenizer.get_merges()],
    )


def bert():
    pieces = kbl.load_tokenizer(VOCABULARIES / "bert-base-uncased").get_vocabulary()
    return transformers.BertTokenizer(vocab={x: i for i, x in enumerate(pieces)})


def xlm_roberta():
    config = kbl.load_tokenizer(VOCABULARIES / "albert").get_config()
    pieces = zip(config["vocabulary"], config["scores"], strict=False)
    own = dict.fromkeys(("<s>", "<pad>", "</s>", "<unk>"), 0.0)
    rest = [(piece, score) for piece, score in pieces if piece not in own]
    return transformers.XLMRobertaTokenizer(vocab=[*own.items(), *rest, ("<mask>", 0)])


# Family -> its tokenizer, changes of the tiny encoder, separators between a pair.
FAMILIES = {
    "camembert": (camembert, {"position_offset": 2, "num_segments": 1}, 2),
    "mpnet": (
        mpnet,
        {"position_offset": 2, "num_segments": 0, "relative_bias": {}},
        2,
    ),
    "deberta": (
        deberta,
        {
            "num_segments": 0,
            "max_sequence_length": None,
            "relative_positions": {
                "max_distance": 512,
                "share_projections": False,
                "normalize": False,
            },
            "biases": {"key": False},
            "pooling": None,
        },
        2,
    ),
}


@needs_data
@pytest.mark.parametrize("family", FAMILIES)
def test_ids_are_those_of_transformers_and_come_back(tmp_path, family):
    make, changes, separators = FAMILIES[family]
    theirs = make()
    theirs.save_pretrained(tmp_path / "theirs")
    preprocessor = kbl.load_preprocessor(tmp_path / "theirs", sequence_length=24)
    check(preprocessor, theirs, separators)
    size = preprocessor.tokenizer.vocabulary_size()
    model = tiny.encoder(family=family, vocabulary_size=size, **changes)
    kbl.save_hugging_face(model, preprocessor, tmp_path / "ours")
    again = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
    assert type(again).__name__ == type(theirs).__name__
    check(preprocessor, again, separators)
    check(kbl.load_preprocessor(tmp_path / "ours"), theirs, separators)


@needs_data
@pytest.mark.parametrize(
    ("family", "make", "separators"),
    [
        ("nomic_bert", bert, 1),
        ("gte", bert, 1),
        ("gte", xlm_roberta, 2),
        ("jina_embeddings_v3", xlm_roberta, 2),
    ],
)
def test_families_with_tokenizers_of_others(tmp_path, family, make, separators):
    theirs = make()
    for folder in ("theirs", "ours"):
        (tmp_path / folder).mkdir()
        config = json.dumps({"model_type": family, "max_position_embeddings": 8192})
        (tmp_path / folder / "config.json").write_text(config)
    theirs.save_pretrained(tmp_path / "theirs")
    preprocessor = kbl.load_preprocessor(tmp_path / "theirs")
    assert preprocessor.sequence_length == 8192
    preprocessor = kbl.load_preprocessor(tmp_path / "theirs", sequence_length=24)
    check(preprocessor, theirs, separators)
    write_tokenizer(preprocessor, tiny.config(family=family), tmp_path / "ours")
    again = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
    assert type(again).__name__ == type(theirs).__name__
    check(preprocessor, again, separators)
    check(kbl.load_preprocessor(tmp_path / "ours"), theirs, separators)


@needs_data
@pytest.mark.parametrize("family", FAMILIES)
def test_masks_are_found(tmp_path, family):
    theirs = FAMILIES[family][0]()
    theirs.save_pretrained(tmp_path)
    mask = theirs.mask_token
    texts = [f"a {mask} day", f"{mask}{mask}", f"fine{mask}.", mask.upper()]
    ours = kbl.load_tokenizer(tmp_path, special_tokens_in_text=True)
    expected = theirs(texts, add_special_tokens=False)["input_ids"]
    assert ours(texts).to_list() == expected


def check(preprocessor, theirs, separators):
    limits = {"truncation": True, "max_length": 24}
    ids = theirs(TEXTS, split_special_tokens=True, **limits)["input_ids"]
    width = max(map(len, ids))
    expected = [row + [theirs.pad_token_id] * (width - len(row)) for row in ids]
    assert preprocessor(TEXTS)["token_ids"].numpy().tolist() == expected
    pair = preprocessor(tuple([text] for text in PAIRS))["token_ids"].numpy()
    assert pair.tolist() == [theirs(*PAIRS)["input_ids"]]
    assert preprocessor.num_separators == separators

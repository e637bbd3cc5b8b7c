"""Added tokens that overlap, found in random strings as `tokenizers` finds them."""

import json
import random

import pytest
import tokenizers

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.tokenizers.saving import WRITERS
from tests.parity.data import needs_data
from tests.paths import VOCABULARIES

pytestmark = [pytest.mark.parity, needs_data]

TOKENS = [
    *("ABC", "BCDE", "CDE!", "XYZ", "zzzz", "@@@", "ÄÖX", "日本語", "ab cd"),
    *("foo-bar", "a.b.c", "hello", "the", "ing"),
    *("[E1]", "[/E1]", "<user>", "<mask2>"),
]
PARTS = [
    *TOKENS,
    *(" ", "  ", "\t", "\n", "\u00a0", *"abcDExé日本Ä!.-<>[]"),
    *("Hello", "HELLO", "The", "weather", "running", "ABCDE", "ABCDEF", "XYZABC"),
    *("[MASK]", "<mask>", " <mask>", "  [MASK]", "</s>", "[SEP]"),
]
VOCABULARY_SETS = 6
STRINGS_A_SET = 400


def with_random_tokens(content: dict, random: random.Random) -> dict:
    """Adds tokens to a tokenizer.json: old pieces and new ones, special or not."""
    vocabulary = content["model"]["vocab"]
    if not isinstance(vocabulary, dict):
        vocabulary = {piece: i for i, (piece, _) in enumerate(vocabulary)}
    added = {token["content"]: token for token in content["added_tokens"]}
    size = 1 + max(*vocabulary.values(), *(x["id"] for x in added.values()))
    for name in random.sample(TOKENS, random.randint(1, 6)):
        if name in added:
            continue
        added[name] = {
            "id": vocabulary.get(name, size),
            "content": name,
            "special": random.random() < 0.5,
            **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
        }
        size += name not in vocabulary
    tokens = sorted(added.values(), key=lambda token: token["id"])
    for token in tokens:
        if token["content"] in ("[MASK]", "<mask>"):
            token["lstrip"] = random.random() < 0.5
    return {**content, "added_tokens": tokens}


def encoded(path, texts):
    tokenizer = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json"))
    encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [(x.ids, x.offsets) for x in encodings]


@pytest.mark.parametrize("name", ["bert-base-uncased", "roberta-base", "albert"])
def test_random_strings(name, tmp_path):
    stored = kbl.load_tokenizer(VOCABULARIES / name)
    files = WRITERS[type(stored)]
    files.write(stored, tmp_path)
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    generator = random.Random(name)
    for number in range(VOCABULARY_SETS):
        directory, again = tmp_path / str(number), tmp_path / f"{number} again"
        directory.mkdir()
        again.mkdir()
        changed = json.dumps(with_random_tokens(content, generator))
        (directory / "tokenizer.json").write_text(changed)
        texts = [
            "".join(generator.choices(PARTS, k=generator.randint(1, 9)))
            for _ in range(STRINGS_A_SET)
        ]
        tokenizer = kbl.load_tokenizer(directory, special_tokens_in_text=True)
        expected = encoded(directory, texts)
        assert tokenizer(texts).to_list() == [ids for ids, _ in expected]
        ids, starts, ends = tokenizer.tokenize_with_offsets(texts)
        spans = zip(starts.to_list(), ends.to_list(), strict=True)
        offsets = [list(zip(*row, strict=True)) for row in spans]
        assert list(zip(ids.to_list(), offsets, strict=True)) == expected
        files.write(tokenizer, again)
        assert encoded(again, texts) == expected

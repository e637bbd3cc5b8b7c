"""Writes tests/golden/wordpiece.json: ids and offsets of the reference.

The reference is Hugging Face's `tokenizers` on a vocabulary made here and the
strings of `tests/text/hard_strings.py`. Run it from the repository root when
those change:

    python -m tests.golden.make_wordpiece_golden
"""

import json
import string
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from tests.text.hard_strings import HARD_STRINGS

TARGET = Path("tests/golden/wordpiece.json")
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = """
    the go going cafe café naive istanbul i̇stanbul Istanbul İstanbul of mask MASK
    日本 co co-op unused unk
"""
PIECES = """
    ##the ##ing ##stanbul ##op ##é ##e\u0301 ##\u0301 ##ß ##ς ##σ ##ा ##ि ##न ##्
    ##द ##ी ##ᅡ ##ᆫ ##ᅡᆫ ##국 ##어 ##本 ##語 ##ก ##ั ##😀 ##\U00010428 ##\u0a76 ##\u061d
"""
CHARACTERS = "é ß ς σ α İ ı å Å ñ ё й ह न क भ 한 ᄒ ᅡ ᆫ 日 本 語 中 豈 𠀀 𪛖 ガ カ ก ع ש"
SYMBOLS = """
    . , ! ? ' - [ ] ( ) # ## _ … ’ “ ， 。 、 $ € © ° ½ ﬁ \ufffd 😀 👩 ❤ →
    \u2212 \u061d \u0a76 \u2e4f \u166d
"""
UPPERCASE = "A B C E G I S Σ"
SETTINGS = {
    "uncased": {},
    "cased": {"lowercase": False},
    "accents_kept": {"strip_accents": False},
    "accents_stripped_cased": {"lowercase": False, "strip_accents": True},
    "cjk_whole": {"split_cjk": False},
    "special_tokens": {"special_tokens_in_text": True},
}


def vocabulary():
    letters = list(string.ascii_lowercase + string.digits)
    pieces = [
        *SPECIAL_TOKENS,
        "[unused0]",
        *letters,
        *(f"##{letter}" for letter in letters),
        *f"{WORDS} {PIECES} {CHARACTERS} {SYMBOLS} {UPPERCASE}".split(),
    ]
    return list(dict.fromkeys(pieces))


def reference(
    pieces,
    lowercase=True,
    strip_accents=None,
    split_cjk=True,
    special_tokens_in_text=False,
):
    """A tokenizer with the switches of `WordPieceTokenizer`."""
    ids = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(
        handle_chinese_chars=split_cjk,
        strip_accents=strip_accents,
        lowercase=lowercase,
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(
        [AddedToken(token, normalized=False) for token in SPECIAL_TOKENS]
    )
    tokenizer.encode_special_tokens = not special_tokens_in_text
    return tokenizer


def encodings(tokenizer):
    encoded = tokenizer.encode_batch(HARD_STRINGS, add_special_tokens=False)
    return [
        {
            "ids": encoding.ids,
            "starts": [start for start, _ in encoding.offsets],
            "ends": [end for _, end in encoding.offsets],
        }
        for encoding in encoded
    ]


def main():
    pieces = vocabulary()
    content = {
        "made_by": f"{__spec__.name}, tokenizers {tokenizers.__version__}",
        "vocabulary": pieces,
        "texts": HARD_STRINGS,
        "settings": {
            name: {
                "switches": switches,
                "rows": encodings(reference(pieces, **switches)),
            }
            for name, switches in SETTINGS.items()
        },
    }
    text = json.dumps(content, separators=(",", ":"))
    TARGET.write_text(text + "\n", encoding="utf-8")
    print(f"wrote {TARGET}: {len(pieces)} pieces, {len(HARD_STRINGS)} strings")


if __name__ == "__main__":
    main()

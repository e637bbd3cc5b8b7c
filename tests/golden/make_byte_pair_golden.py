"""Writes tests/golden/byte_pair.json: ids and offsets of the reference.

The reference is Hugging Face's `tokenizers`, its vocabulary trained on the text
below, which is made up, and on the strings of `tests/text/hard_strings.py`. Run
it from the repository root when those change:

    python -m tests.golden.make_byte_pair_golden
"""

import json
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Tokenizer, trainers
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import RobertaProcessing

from tests.text.hard_strings import HARD_STRINGS

TARGET = Path("tests/golden/byte_pair.json")
SPECIAL_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
TRAINING = [
    "the going gets tough when the cafe's naive goers don't go the way they'd go",
    "The mask is masking, the pad pads; they're 12 of 120, and we've 1,234.56.",
    "aaaa aaaaaaaa == ======== -- ---- 日本語 日本 café naïve Ångström 😀😀",
]
TEXTS = [
    *HARD_STRINGS,
    "they're we've don't they'd I'll I'm it's 's''s !'s 'S'T \n's  's",
    "a  b   c\n\n d \t e  \n  f \u3000 g\u00a0\u00a0h  ",
    "\n a",
    "  a",
    "\n",
    " \n",
    "the<mask> go \t <mask><s>  <mask>é</s> <pad><unk>",
    " <mask> b",
    "\r\n\n<mask>\x01",
    "<mask>",
    "a\0<mask>\0b",
    "½²Ⅷ١२ 12³ x1y2",
    "aaaaa aaaaaaaaaaaaa ======= -----",
]
SETTINGS = {
    "plain": {},
    "prefix": {"add_prefix_space": True},
    "untrimmed": {"trim_offsets": False, "add_prefix_space": True},
    "special_tokens": {"special_tokens_in_text": True},
    "special_tokens_prefix": {
        "special_tokens_in_text": True,
        "add_prefix_space": True,
    },
    "special_tokens_untrimmed": {
        "special_tokens_in_text": True,
        "trim_offsets": False,
    },
}


def train():
    """Returns the pieces in the order of their ids, and the merges."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=SPECIAL_TOKENS[:-1],
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*TRAINING * 3, *HARD_STRINGS], trainer)
    ids = tokenizer.get_vocab()
    model = json.loads(tokenizer.to_str())["model"]
    pieces = [*sorted(ids, key=ids.__getitem__), SPECIAL_TOKENS[-1]]
    return pieces, [" ".join(merge) for merge in model["merges"]]


def reference(
    pieces,
    merges,
    add_prefix_space=False,
    trim_offsets=True,
    special_tokens_in_text=False,
):
    """A tokenizer with the switches of `BytePairTokenizer`."""
    ids = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(BPE(ids, [tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=add_prefix_space)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.post_processor = RobertaProcessing(
        ("</s>", ids["</s>"]),
        ("<s>", ids["<s>"]),
        trim_offsets=trim_offsets,
        add_prefix_space=add_prefix_space,
    )
    tokenizer.add_special_tokens(
        [
            AddedToken(token, normalized=False, lstrip=token == "<mask>")
            for token in SPECIAL_TOKENS
        ]
    )
    tokenizer.encode_special_tokens = not special_tokens_in_text
    return tokenizer


def encodings(tokenizer, texts):
    return [
        {
            "ids": encoding.ids,
            "starts": [start for start, _ in encoding.offsets],
            "ends": [end for _, end in encoding.offsets],
        }
        for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)
    ]


def main():
    pieces, merges = train()
    tokenizers_of = {
        name: reference(pieces, merges, **switches)
        for name, switches in SETTINGS.items()
    }
    content = {
        "made_by": f"{__spec__.name}, tokenizers {tokenizers.__version__}",
        "vocabulary": pieces,
        "merges": merges,
        "texts": TEXTS,
        "settings": {
            name: {
                "switches": SETTINGS[name],
                "rows": encodings(tokenizer, TEXTS),
            }
            for name, tokenizer in tokenizers_of.items()
        },
        "decoded": [
            tokenizers_of["plain"].decode([i, j], skip_special_tokens=False)
            for i, j in zip(range(len(pieces)), range(len(pieces))[::-1], strict=True)
        ],
    }
    text = json.dumps(content, separators=(",", ":"))
    TARGET.write_text(text + "\n", encoding="utf-8")
    print(f"wrote {TARGET}: {len(pieces)} pieces, {len(TEXTS)} strings")


if __name__ == "__main__":
    main()

"""Writes tests/golden/sentence_piece.json: ids and offsets of the reference.

The reference is Hugging Face's `tokenizers` on a tiny unigram model trained here
on made-up text. Run it from the repository root when that changes:

    python -m tests.golden.make_sentence_piece_golden
"""

import io
import json
import random
from pathlib import Path

import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import Unigram

from tests.text.hard_strings import HARD_STRINGS

TARGET = Path("tests/golden/sentence_piece.json")
NAMES = {"bos_piece": "[CLS]", "eos_piece": "[SEP]", "pad_piece": "<pad>"}
EXTRA = [
    "``kalo'' '''mi'''' `ne`",
    "kalo.mi . ne.. .ru",
    "▁ ▁kalo▁mi ▁▁ ne▁",
    "kalo<unk>mi <pad>ne [MASK]ru[MASK] [CLS]",
    "kalo , mi ,ne, (ru )",
    " kalo\u3000 mi\u00a0ne\x0bru\x0b\x0bta  vo \n",
    "n\u0303an e\u0301l e\u0323\u0301 \u0958 한\u1112\u1161\u11ab",
]

SYLLABLES = "ka lo mi ne ru ta vo shi pe zu an el or ist ing é ñ".split()  # noqa: SIM905


def made_up_lines(count=400):
    random_numbers = random.Random(5)
    words = [
        "".join(random_numbers.choices(SYLLABLES, k=random_numbers.randint(1, 4)))
        for _ in range(120)
    ]
    return [
        " ".join(random_numbers.choices(words, k=random_numbers.randint(2, 9))) + "."
        for _ in range(count)
    ]


def train(**options):
    """Returns the bytes of a unigram model trained on made-up lines."""
    model = io.BytesIO()
    arguments = {"vocab_size": 120, "hard_vocab_limit": False, **options}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(made_up_lines()),
        model_writer=model,
        minloglevel=2,
        **arguments,
    )
    return model.getvalue()


def encodings(tokenizer, texts):
    return [
        [x.ids, [a for a, _ in x.offsets], [b for _, b in x.offsets]]
        for x in tokenizer.encode_batch(texts, add_special_tokens=False)
    ]


def pieces_of(model):
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    return [[piece.piece, piece.score] for piece in proto.pieces]


# Arguments of `SentencePieceTokenizer`, and the same of `tokenizers`. None has a
# charsmap: that is SentencePiece's data. The parity tests have it.
SPACE = pre_tokenizers.Metaspace()
SPLIT = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), SPACE])
MARKS = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("isolated"), SPACE])
QUOTES = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
SETTINGS = {
    "albert": (
        {
            "normalization": ["quotes", "strip_accents", "lowercase"],
            "added_tokens": ["."],
        },
        [
            *QUOTES,
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
        ],
        SPLIT,
    ),
    "plain": ({}, [], SPLIT),
    "special_tokens": ({"special_tokens_in_text": True}, [], SPLIT),
    "deberta": (
        {
            "normalization": ["collapse_white_space", "nfc", "strip_right"],
            "split_white_space": False,
        },
        [
            normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "),
            normalizers.NFC(),
            normalizers.Strip(left=False, right=True),
        ],
        SPACE,
    ),
    "punctuation": (
        {
            "normalization": ["lowercase", "strip", "collapse_spaces"],
            "split_white_space": False,
            "split_punctuation": True,
        },
        [
            normalizers.Lowercase(),
            normalizers.Strip(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ],
        MARKS,
    ),
}
SPECIAL_TOKENS = ["<unk>", "[CLS]", "[SEP]", "<pad>", "[MASK]"]


def reference(pieces, arguments, steps, pre_tokenizer):
    vocab = [tuple(piece) for piece in pieces]
    unknown = [piece for piece, _ in vocab].index("<unk>")
    tokenizer = Tokenizer(Unigram(vocab, unk_id=unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.add_special_tokens(
        [AddedToken(token, normalized=False) for token in SPECIAL_TOKENS]
    )
    tokenizer.add_tokens(
        [
            AddedToken(token, normalized=False)
            for token in arguments.get("added_tokens", [])
        ]
    )
    tokenizer.encode_special_tokens = "special_tokens_in_text" not in arguments
    return tokenizer


def texts():
    return [*made_up_lines(20), *HARD_STRINGS, *EXTRA]


def main():
    pieces = pieces_of(train(pad_id=3, bos_id=1, eos_id=2, unk_id=0, **NAMES))
    content = {
        "made_by": f"{__spec__.name}, tokenizers {tokenizers.__version__}",
        "pieces": pieces,
        "texts": texts(),
        "settings": {
            name: encodings(reference(pieces, *setting), texts())
            for name, setting in SETTINGS.items()
        },
    }
    text = json.dumps(content, separators=(",", ":"))
    TARGET.write_text(text + "\n", encoding="utf-8")
    print(f"wrote {TARGET}: {len(pieces)} pieces, {len(texts())} strings")


if __name__ == "__main__":
    main()

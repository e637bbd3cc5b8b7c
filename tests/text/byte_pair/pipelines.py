"""The tokenizer.json pipelines of ModernBERT and EuroBERT, around any vocabulary.

The parts are those of the published files (ModernBERT, Ettin and gte-modernbert share
one; EuroBERT has Llama 3's), without their vocabularies.
"""

import json

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, trainers
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

from keras_bert_lite.text.byte_pair.patterns import LLAMA3

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
MODERNBERT_FIRST = ["|||IP_ADDRESS|||", "<|padding|>"]
MODERNBERT_SPECIAL = ["<|endoftext|>", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
MODERNBERT_PLAIN = [
    *(" " * count for count in range(24, 1, -1)),
    "|||EMAIL_ADDRESS|||",
    "|||PHONE_NUMBER|||",
]
EUROBERT_SPECIAL = [
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|reserved_special_token_0|>",
    "<|mask|>",
    "<|pad|>",
]


def _added(ids, special, **flags):
    none = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    return [
        {
            "id": id,
            "content": token,
            **none,
            "normalized": token not in special,
            "special": token in special,
            **flags.get(token, {}),
        }
        for token, id in sorted(ids.items(), key=lambda item: item[1])
    ]


def _template(cls, sep, ids):
    def special(token, type_id=0):
        return {"SpecialToken": {"id": token, "type_id": type_id}}

    def text(name, type_id=0):
        return {"Sequence": {"id": name, "type_id": type_id}}

    single = [special(cls), text("A"), special(sep)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, text("B", 1), special(sep, 1)],
        "special_tokens": {
            x: {"id": x, "ids": [ids[x]], "tokens": [x]} for x in (cls, sep)
        },
    }


def _content(vocab, merges, added, **sections):
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        **sections,
        "decoder": BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": merges,
        },
    }


def _trained(pre_tokenizer, texts, size, special=()):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(special),
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], model["merges"]


def modernbert(texts, size, unused=3):
    """Returns the content of a tokenizer.json like ModernBERT's."""
    words = ByteLevel(add_prefix_space=False)
    vocab, merges = _trained(words, texts, size, MODERNBERT_FIRST)
    unused = [f"[unused{i}]" for i in range(unused)]
    more = [*MODERNBERT_PLAIN, *MODERNBERT_SPECIAL, *unused]
    ids = {token: vocab[token] for token in MODERNBERT_FIRST}
    ids |= {token: len(vocab) + i for i, token in enumerate(more)}
    special = {"<|padding|>", *MODERNBERT_SPECIAL}
    return _content(
        vocab,
        merges,
        _added(ids, special, **{"[MASK]": {"lstrip": True}}),
        normalizer={"type": "NFC"},
        pre_tokenizer=BYTE_LEVEL,
        post_processor=_template("[CLS]", "[SEP]", ids),
    )


def eurobert(texts, size):
    """Returns the content of a tokenizer.json like EuroBERT's.

    As in files made of tiktoken's ranks, every split of a piece into two pieces is
    a merge, and the rank of a piece is its id.
    """
    split = Split(Regex(LLAMA3), "isolated")
    words = Sequence([split, ByteLevel(add_prefix_space=False, use_regex=False)])
    vocab, _ = _trained(words, texts, size)
    splits = (
        (id, vocab[piece[:i]], vocab[piece[i:]], piece[:i], piece[i:])
        for piece, id in vocab.items()
        for i in range(1, len(piece))
        if piece[:i] in vocab and piece[i:] in vocab
    )
    merges = [[a, b] for *_, a, b in sorted(splits)]
    # Pieces that no merges form, and one that no bytes are written as.
    for piece in ("ĠcafÃ©s", "qzx", "æĹ¥æľ¬èªŀ", "!!??", "ĊĊĊĊ", "日本"):
        vocab.setdefault(piece, len(vocab))
    ids = {token: len(vocab) + i for i, token in enumerate(EUROBERT_SPECIAL)}
    content = _content(
        vocab,
        merges,
        _added(ids, EUROBERT_SPECIAL),
        normalizer=None,
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": LLAMA3},
                    "behavior": "Isolated",
                    "invert": False,
                },
                {**BYTE_LEVEL, "use_regex": False},
            ],
        },
        post_processor={
            "type": "Sequence",
            "processors": [
                {**BYTE_LEVEL, "add_prefix_space": True, "trim_offsets": False},
                _template("<|begin_of_text|>", "<|end_of_text|>", ids),
            ],
        },
    )
    content["model"]["ignore_merges"] = True
    return content


CONFIGS = {
    "modernbert": {
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "mask_token": "[MASK]",
        "model_max_length": 8192,
        "tokenizer_class": "PreTrainedTokenizerFast",
    },
    "eurobert": {
        "bos_token": "<|begin_of_text|>",
        "eos_token": "<|end_of_text|>",
        "pad_token": "<|pad|>",
        "mask_token": "<|mask|>",
        "model_max_length": 8192,
        "tokenizer_class": "PreTrainedTokenizerFast",
    },
}
MAKERS = {"modernbert": modernbert, "eurobert": eurobert}


def write(name, texts, size, directory):
    """Writes tokenizer.json and tokenizer_config.json; returns the directory."""
    for file, content in (
        ("tokenizer.json", MAKERS[name](texts, size)),
        ("tokenizer_config.json", CONFIGS[name]),
    ):
        (directory / file).write_text(json.dumps(content, ensure_ascii=False))
    return directory

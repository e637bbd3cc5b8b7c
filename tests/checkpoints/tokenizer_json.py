"""A tokenizer.json."""

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "e",
    "é",
    "E",
    "日",
    "日日",
    "##e",
]
TOKENIZER_JSON = {
    "version": "1.0",
    "truncation": {"max_length": 7, "strategy": "LongestFirst", "stride": 0},
    "padding": {"strategy": {"Fixed": 7}, "pad_id": 0, "pad_token": "[PAD]"},
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {piece: i for i, piece in enumerate(PIECES)},
    },
}

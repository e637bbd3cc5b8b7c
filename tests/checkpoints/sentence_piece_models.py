"""SentencePiece models."""

import functools

from tests.golden.make_sentence_piece_golden import train

DEBERTA = {
    **{"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3},
    **{"pad_piece": "[PAD]", "bos_piece": "[CLS]"},
    **{"eos_piece": "[SEP]", "unk_piece": "[UNK]"},
}
ALBERT = {
    **{"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3},
    **{"bos_piece": "[CLS]", "eos_piece": "[SEP]"},
    "control_symbols": ["[MASK]"],
    "user_defined_symbols": ["."],
}
MODELS = {
    "spiece.model": ALBERT,
    "sentencepiece.bpe.model": {},
    "spm.model": DEBERTA,
}


@functools.cache
def model(file):
    return train(**MODELS[file])

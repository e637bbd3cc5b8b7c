"""Tokenizers of each kind, with added and additional special tokens."""

import tokenizers

import keras_bert_lite as kbl
from tests import tiny
from tests.text.sentence_piece.samples import SCORES, VOCABULARY

ADDED = ["abc", "bcde", "fine", "e.f", "東京"]  # "fine" is a piece too
SPECIAL = ["[E1]", "<user>", "weather"]


def byte_pieces():
    return sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())


def wordpiece(**arguments):
    pieces = [*tiny.VOCABULARY, "abc", "bcde", "e.f", "東京", *SPECIAL[:2]]
    return kbl.WordPieceTokenizer(pieces, **arguments)


def byte_pair(**arguments):
    roles = {"unknown": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]"}
    names = {f"{role}_token": token for role, token in roles.items()}
    own = [*roles.values(), "[MASK]"]
    pieces = [*own, *byte_pieces(), "fi", "fin", "fine", *ADDED[:2], *ADDED[3:]]
    merges = ["f i", "fi n", "fin e"]
    return kbl.BytePairTokenizer(
        [*pieces, *SPECIAL], merges, **names, mask_token="[MASK]", **arguments
    )


def sentence_piece(added_tokens=(), normalization=("lowercase",), **arguments):
    more = [x for x in (*ADDED, *SPECIAL, "[MASK]") if x not in VOCABULARY]
    return kbl.SentencePieceTokenizer(
        [*VOCABULARY, *more],
        SCORES,
        normalization,
        added_tokens=added_tokens,
        **arguments,
    )


MAKERS = {"wordpiece": wordpiece, "byte_pair": byte_pair, "unigram": sentence_piece}

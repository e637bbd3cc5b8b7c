"""Byte pair merges, by tensorflow-text's SentencePiece op.

The op merges the adjacent symbols whose *union* has the best score, the
reference the *pair* of the best rank. The two agree if every piece is learned
after its halves: whenever neither end of a piece's bytes has been merged with
what stands around it, what happened within is what happens to those bytes alone,
so all that can form the piece is the one pair that forms it when they are alone.
A merge that does not, because another merge comes between, never happens at all;
such merges are left out of the model.
"""

import hashlib
import struct
from collections.abc import Mapping

import tensorflow as tf
from tensorflow_text.python.ops.sentencepiece_tokenizer import (
    gen_sentencepiece_tokenizer as sentencepiece,
)

from keras_bert_lite.text.byte_pair.byte_level import piece_bytes
from keras_bert_lite.text.byte_pair.merges import Merges

_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3  # types of pieces in the model
_BPE = 2
_LEN, _I32 = 2, 5  # wire types
_SMALL = [bytes([value]) for value in range(0x80)]


class Merger:
    """Splits words into pieces: start from bytes, merge what was learned.

    Args:
        merges: The merges.
        ids: The vocabulary.
    """

    def __init__(self, merges: Merges, ids: Mapping[str, int]) -> None:
        model = _model(merges, ids)
        name = hashlib.sha256(model).hexdigest()

        # An inner function is stored once however often it is called, and the
        # op needs no tracking there; by name, all calls share one model.
        @tf.function
        def handle():
            return sentencepiece.sentencepiece_op(model=model, shared_name=name)

        self._handle = handle

    def split(self, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the ids of the words' pieces and row splits (int32, int64)."""
        # One character a byte, whatever the bytes are.
        characters = tf.strings.unicode_transcode(words, "ISO-8859-1", "UTF-8")
        return sentencepiece.sentencepiece_tokenize_op(
            self._handle(), characters, 0, 1.0, False, False, False
        )


def _model(merges: Merges, ids: Mapping[str, int]) -> bytes:
    """A serialized `sentencepiece.ModelProto`; other pieces are never formed."""
    entries = []
    for piece, id in sorted(ids.items(), key=lambda item: item[1]):
        if piece in merges:
            text = piece_bytes(piece).decode("latin-1")
            entries.append(_entry(text, -merges.ranks.get(piece, 0), _NORMAL))
        else:
            entries.append(_entry(f"\u0100{id}", 0, _CONTROL))
    entries.append(_entry("\u0100", 0, _UNKNOWN))
    trainer = _tag(3, 0) + _varint(_BPE)
    # No dummy prefix, no removal or escaping of spaces.
    normalizer = b"".join(_tag(field, 0) + _varint(0) for field in (3, 4, 5))
    return b"".join(entries) + _field(2, trainer) + _field(3, normalizer)


def _entry(text: str, score: int, kind: int) -> bytes:
    number = _tag(2, _I32) + struct.pack("<f", score)
    return _field(1, _field(1, text.encode()) + number + _tag(3, 0) + _varint(kind))


def _field(number: int, content: bytes) -> bytes:
    return _tag(number, _LEN) + _varint(len(content)) + content


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    if value <= 0x7F:  # nearly all are
        return _SMALL[value]
    return bytes([value & 0x7F | 0x80]) + _varint(value >> 7)

"""Byte pair merges, by tensorflow-text's SentencePiece op.

The op merges the adjacent symbols whose *union* has the best score; the reference
merges the *pair* of the best rank. The two agree, because only one pair can form a
piece: as long as neither end of a piece's bytes has been merged with its
surroundings, the merges inside are those of the bytes alone, which end with one pair.
The union has the rank of that pair. A piece that its bytes alone do not form never
appears, and is left out of the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from keras_bert_lite._private import sentencepiece_op, sentencepiece_tokenize
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.byte_pair.byte_level import piece_bytes
from keras_bert_lite.text.byte_pair.merges import Merges


class Merger:
    """Splits words into bytes and applies the learned merges.

    Args:
        merges: The merges.
        ids: The vocabulary.
    """

    def __init__(self, merges: Merges, ids: Mapping[str, int]) -> None:
        model = _model(merges, ids)
        name = hashlib.sha256(model).hexdigest()

        # An inner function is stored once, however often it is called, and its op
        # needs no tracking. All calls share one model by its name.
        @tf.function(autograph=False)
        def handle():
            return sentencepiece_op(model, name)

        self._handle = handle

    def split(self, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the ids of the words' pieces and row splits (int32, int64)."""
        # One character per byte, whatever the bytes are.
        characters = tf.strings.unicode_transcode(words, "ISO-8859-1", "UTF-8")
        return sentencepiece_tokenize(self._handle(), characters)


def _model(merges: Merges, ids: Mapping[str, int]) -> bytes:
    """Returns a serialized `ModelProto` that forms only the pieces of `merges`."""
    # Imported late: only some tokenizers need it.
    from sentencepiece import sentencepiece_model_pb2

    proto: Any = sentencepiece_model_pb2  # protobuf makes its classes at run time
    kinds = proto.ModelProto.SentencePiece
    model = proto.ModelProto()
    for piece, id in sorted(ids.items(), key=lambda item: item[1]):
        if piece in merges:
            text = piece_bytes(piece).decode("latin-1")
            score = -merges.ranks.get(piece, 0)
            model.pieces.add(piece=text, score=score, type=kinds.NORMAL)
        else:
            model.pieces.add(piece=f"\u0100{id}", score=0, type=kinds.CONTROL)
    model.pieces.add(piece="\u0100", score=0, type=kinds.UNKNOWN)
    model.trainer_spec.model_type = proto.TrainerSpec.BPE
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    model.normalizer_spec.escape_whitespaces = False
    return model.SerializeToString()

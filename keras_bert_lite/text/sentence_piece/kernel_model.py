"""The model of tensorflow-text's unigram kernel.

The kernel (`FastSentencepieceTokenize`) adds up scores as float32 along a whole
string; Hugging Face uses float64, word by word. Two changes of the scores make float32
sufficient. A constant is added for every character, so that sums stay near zero
however long the string is; this preserves all comparisons between segmentations.
Scores are rounded to multiples of 2^-14, so that sums are exact and ties remain ties;
this decides only between segmentations whose scores differ by less than the rounding.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_bert_lite.text.normalization.steps import METASPACE

UNKNOWN_PENALTY = 10.0
_UNIT = 2.0**-14  # exact up to sums of 1,024
_UNREACHABLE = "\x00"


class Entry(NamedTuple):
    """A string that the kernel finds."""

    piece: str
    score: float | None  # `None` if it has no rivals
    id: int
    length: int = 1  # characters that it represents
    word: bool = False  # whether it is a stand-in and a whole word


class KernelModel(NamedTuple):
    """The kernel's model and the meaning of its ids."""

    proto: bytes  # a serialized `sentencepiece.ModelProto`
    ids: list[int]
    lengths: list[int]
    fuses: list[bool]  # whether a run becomes one unknown token


def entries(
    pieces: Sequence[str],
    scores: Sequence[float],
    unknown_id: int,
    stand_ins: dict[str, int],
    unknown_stand_in: str,
) -> list[Entry]:
    """Returns the entries that can be found in text.

    Args:
        pieces: Pieces in the order of ids.
        scores: The scores of the first pieces.
        unknown_id: The id of characters that are not pieces.
        stand_ins: Characters that are words of their own, with the id of each.
        unknown_stand_in: The stand-in of characters that are in no piece.
    """
    found = [
        Entry(piece, score, i, len(piece))
        for i, (piece, score) in enumerate(zip(pieces, scores, strict=False))
        # A word begins at each metaspace, so no other piece can occur.
        if piece and METASPACE not in piece[1:] and " " not in piece
    ]
    alone = {entry.piece for entry in found if entry.length == 1}
    inside = {character for entry in found for character in entry.piece}
    unknown = min(scores) - UNKNOWN_PENALTY
    found += [Entry(c, unknown, unknown_id) for c in sorted(inside - alone)]
    found.append(Entry(unknown_stand_in, None, unknown_id))
    found += [Entry(METASPACE + c, None, i, 1, True) for c, i in stand_ins.items()]
    return found


def known_characters(found: Sequence[Entry], unknown_stand_in: str) -> set[str]:
    """Returns the characters in pieces."""
    pieces = (entry.piece for entry in found if not entry.word)
    return set().union(*pieces) - {unknown_stand_in}


def build(found: Sequence[Entry], unknown_id: int) -> KernelModel:
    """Builds the kernel's model."""
    # Imported late: only some tokenizers need it.
    from sentencepiece import sentencepiece_model_pb2

    proto: Any = sentencepiece_model_pb2  # protobuf makes its classes at run time
    scores = _centered(found)
    model = proto.ModelProto()
    model.trainer_spec.model_type = proto.TrainerSpec.UNIGRAM
    model.trainer_spec.unk_id = 0
    model.normalizer_spec.name = "identity"
    unknown = proto.ModelProto.SentencePiece.UNKNOWN
    model.pieces.add(piece=_UNREACHABLE, score=0.0, type=unknown)
    for entry, score in zip(found, scores.tolist(), strict=True):
        model.pieces.add(piece=entry.piece, score=score)
    return KernelModel(
        model.SerializeToString(),
        [unknown_id, *(entry.id for entry in found)],
        [1, *(entry.length for entry in found)],
        [True, *(entry.id == unknown_id and not entry.word for entry in found)],
    )


def _centered(found: Sequence[Entry]) -> np.ndarray:
    free = np.array([entry.score is None for entry in found])
    scores = np.array([entry.score or 0.0 for entry in found])
    lengths = np.array([entry.length for entry in found], float)
    likely = np.exp(np.minimum(scores, -1.0)) * (scores < 0)
    worth = -(likely @ scores) / max(likely @ lengths, 1e-9)
    return np.round(np.where(free, 0, scores + worth * lengths) / _UNIT) * _UNIT

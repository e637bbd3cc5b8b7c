"""Finds the byte pair merges that can happen."""

import itertools
from collections.abc import Iterable, Mapping, Sequence

from keras_bert_lite.text.byte_pair.byte_level import BYTES, CHARACTERS, UTF8_BYTES


class Merges:
    """The merges that can happen, with their ranks.

    Each piece can be formed by one pair at most: the last that merges when the
    piece's bytes are merged alone. See `merger`.

    Args:
        merges: The merges by rank, each `"a b"`.
        ids: The vocabulary.

    Raises:
        ValueError: If a merge is not two pieces and a space, appears twice or has a
            piece outside the vocabulary.
    """

    def __init__(self, merges: Sequence[str], ids: Mapping[str, int]) -> None:
        pairs = [_halves(merge) for merge in merges]
        _check(pairs, ids)
        rank_of_pair = {pair: rank for rank, pair in enumerate(pairs)}
        last = {a + b: _last_merge(a + b, rank_of_pair) for a, b in pairs}
        # Of the pieces that can be formed.
        self.ranks = {piece: rank for piece, rank in last.items() if rank is not None}
        self._pairs = pairs

    def __contains__(self, piece: str) -> bool:
        """Returns whether text can be split into this piece."""
        return piece in BYTES or piece in self.ranks

    def with_parts(self, pieces: Iterable[str]) -> set[str]:
        """Returns pieces with all those that are merged on the way to them."""
        found: set[str] = set()
        left = [*pieces]
        while left:
            piece = left.pop()
            if piece not in found:
                found.add(piece)
                left += self._pairs[self.ranks[piece]] if piece in self.ranks else ()
        return found


def _last_merge(piece: str, rank_of_pair: Mapping[tuple[str, str], int]) -> int | None:
    """Returns the rank of the merge that forms a piece of its bytes alone, if any."""
    never = len(rank_of_pair)
    rank_of = rank_of_pair.get
    symbols = list(piece)
    ranks = [rank_of(pair, never) for pair in itertools.pairwise(symbols)]
    rank = never
    while ranks:
        rank = min(ranks)
        if rank == never:
            return None
        at = ranks.index(rank)
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
        del ranks[at]
        if at:
            ranks[at - 1] = rank_of((symbols[at - 1], symbols[at]), never)
        if at < len(ranks):
            ranks[at] = rank_of((symbols[at], symbols[at + 1]), never)
    return rank


def _halves(merge: str) -> tuple[str, str]:
    halves = merge.split(" ") if isinstance(merge, str) else []
    if len(halves) != 2 or not all(halves):
        raise ValueError(
            "`merges` must be strings of two pieces and a space between them. "
            f"Received: {merge!r}"
        )
    return halves[0], halves[1]


def _check(pairs: list[tuple[str, str]], ids: Mapping[str, int]) -> None:
    missing = [CHARACTERS[b] for b in UTF8_BYTES if CHARACTERS[b] not in ids]
    if missing:
        raise ValueError(
            "`vocabulary` must have a piece for every byte of UTF-8. "
            f"Received none for: {missing[:5]} ({len(missing)} in all)"
        )
    if len(set(pairs)) != len(pairs):
        raise ValueError(
            "`merges` must not have duplicates. "
            f"Received {len(pairs)} merges, {len(set(pairs))} of them distinct"
        )
    for a, b in pairs:
        for piece in (a, b, a + b):
            if piece not in ids:
                raise ValueError(
                    "`merges` must join pieces in the vocabulary. "
                    f"Received: {f'{a} {b}'!r}, but {piece!r} is not in it"
                )

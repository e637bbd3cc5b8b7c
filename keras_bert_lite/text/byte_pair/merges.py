"""Finds the byte pair merges that can happen."""

from collections.abc import Mapping, Sequence

from keras_bert_lite.text.byte_pair.byte_level import BYTES, CHARACTERS, UTF8_BYTES


class Merges:
    """The merges that can happen, with their ranks.

    Args:
        merges: The merges in the order they were learned, each `"a b"`.
        ids: The vocabulary.

    Raises:
        ValueError: If a merge is not two pieces and a space, appears twice, has a
            piece outside the vocabulary or comes before the merges of its halves.
    """

    def __init__(self, merges: Sequence[str], ids: Mapping[str, int]) -> None:
        pairs = [_halves(merge) for merge in merges]
        _check(pairs, ids)
        self.ranks: dict[str, int] = {}  # of the pieces that can be formed
        self._rank_of_pair: dict[tuple[str, str], int] = {}
        self._halves: dict[str, tuple[str, str]] = {}
        last = {a + b: rank for rank, (a, b) in enumerate(pairs)}
        for rank, pair in enumerate(pairs):
            self._refuse_too_early(rank, pair, last)
            if self._happens(rank, *pair):
                piece = "".join(pair)
                self.ranks[piece] = rank
                self._rank_of_pair[pair] = rank
                self._halves[piece] = pair

    def __contains__(self, piece: str) -> bool:
        """Returns whether text can be split into this piece."""
        return piece in BYTES or piece in self.ranks

    def _refuse_too_early(
        self, rank: int, pair: tuple[str, str], last: Mapping[str, int]
    ) -> None:
        for half in pair:
            if half not in self and last.get(half, -1) > rank:
                raise ValueError(
                    "`merges` must be in the order they were learned. Received: "
                    f"{' '.join(pair)!r} (number {rank}) before the merge to {half!r}"
                )

    def _happens(self, rank: int, left: str, right: str) -> bool:
        """Returns whether nothing is merged across the middle before this merge."""
        if left not in self or right not in self or left + right in self:
            return False
        limit = rank
        while self._rank_of_pair.get((left, right), limit) >= limit:
            left_rank = self.ranks.get(left, -1)
            right_rank = self.ranks.get(right, -1)
            if left_rank > right_rank:
                limit, left = left_rank, self._halves[left][1]
            elif right_rank >= 0:  # the leftmost of equal merges comes first
                limit, right = right_rank + 1, self._halves[right][0]
            else:
                return True
        return False


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

"""Which tokens of documents make a row of pretraining data.

Everything here is a place in the tokens of a chunk, no tokens: millions of rows are
made, and their tokens are fetched together (`rows`).
"""

import bisect
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SHORTEST = 2  # tokens that a short row aims at, at least

Document = Sequence[int]  # where its sentences begin, and where the last one ends
Span = tuple[int, int]  # begin and end


class Pair(NamedTuple):
    """Two segments, and 0 where the second follows (BERT) or is in order (ALBERT)."""

    first: Span
    second: Span
    label: int


def next_sentence_pairs(
    documents: Sequence[Document],
    room: int,
    short_share: float,
    rng: random.Random,
) -> Iterator[Pair]:
    """Pairs a segment with the next one, or with one of another document.

    Each has the same chance. Sentences that would have come next and do not are
    used in the next row. A document of one token makes no pair of its own. Where
    there is one document only, what does not follow is from anywhere in it.

    Args:
        documents: Of a chunk.
        room: The most tokens of both segments.
        short_share: Share of the rows that aim at a random number of tokens
            below `room`.
        rng: Draws.

    Returns:
        The pairs, as places in the chunk's tokens.

    Reference: `create_instances_from_document` in google-research/bert. There a
    segment of one sentence is always followed by a random one; here it gets the
    next sentence, or is cut in two at the end of its document, so that both
    labels stay equally frequent.
    """
    for number, document in enumerate(documents):
        sentence = 0
        while sentence < len(document) - 1:
            target = _target(room, short_share, rng)
            taken = _take(document, sentence, target, rng)
            sentence = taken.following
            label = int(rng.random() < 0.5)
            if label:
                first = taken.begin, taken.middle or taken.end
                sentence = sentence if taken.split is None else taken.split
                other = documents[_other(number, len(documents), rng)]
                second = _anywhere(other, target - _size(first), rng)
            else:
                first, second = _halves(taken)
            if _size(second):
                yield Pair(*_truncated(first, second, room, rng), label)


def sentence_order_pairs(
    documents: Sequence[Document],
    room: int,
    short_share: float,
    rng: random.Random,
) -> Iterator[Pair]:
    """Pairs a segment with the next one, half of them in the wrong order.

    Args:
        documents, room, short_share, rng: See `next_sentence_pairs`.

    Reference: [Lan et al., 2019](https://arxiv.org/abs/1909.11942), section 3.1.
    """
    for document in documents:
        sentence = 0
        while sentence < len(document) - 1:
            target = _target(room, short_share, rng)
            taken = _take(document, sentence, target, rng)
            sentence = taken.following
            first, second = _truncated(*_halves(taken), room, rng)
            label = int(rng.random() < 0.5)
            if _size(second):
                yield Pair(second, first, 1) if label else Pair(first, second, 0)


def full_sentences(
    documents: Sequence[Document],
    room: int,
    short_share: float,
    rng: random.Random,
    fill: bool = False,
) -> Iterator[Span]:
    """Cuts documents into segments of full sentences; no token is left out.

    A sentence that is longer than `room` is cut.

    Args:
        documents, room, short_share, rng: See `next_sentence_pairs`.
        fill: Whether any sentence is cut where a segment is full.

    Reference: [Liu et al., 2019](https://arxiv.org/abs/1907.11692), section 4.2,
    `DOC-SENTENCES`; filled, as transformers' `run_mlm.py` cuts texts.
    """
    for document in documents:
        begin = document[0]
        while begin < document[-1]:
            end = min(begin + _target(room, short_share, rng), document[-1])
            whole = document[bisect.bisect_right(document, end) - 1]
            end = whole if whole > begin and not fill else end
            yield begin, end
            begin = end


def packed(sizes: Sequence[int], room: int) -> list[list[int]]:
    """Puts segments into as few rows of `room` as best fit finds.

    Args:
        sizes: Tokens of each segment, none more than `room`.
        room: Tokens of a row.

    Returns:
        The numbers of the segments of each row.

    Reference: best-fit decreasing; [Krell et al.,
    2021](https://arxiv.org/abs/2107.02027).
    """
    rows: list[list[int]] = []
    with_room: list[list[int]] = [[] for _ in range(room + 1)]
    for number in sorted(range(len(sizes)), key=lambda x: -sizes[x]):
        size = sizes[number]
        fitting = next((x for x in range(size, room + 1) if with_room[x]), None)
        if fitting is None:
            rows.append([])
            fitting = room
            with_room[room].append(len(rows) - 1)
        row = with_room[fitting].pop()
        rows[row].append(number)
        with_room[fitting - size].append(row)
    return rows


def _below(number: int, rng: random.Random) -> int:
    return int(rng.random() * number)


def _size(span: Span) -> int:
    return span[1] - span[0]


def _target(room: int, short_share: float, rng: random.Random) -> int:
    if rng.random() < short_share:
        shortest = min(SHORTEST, room)
        return shortest + _below(room + 1 - shortest, rng)
    return room


class _Taken(NamedTuple):
    """Sentences of a document: the tokens from `begin` to `end`."""

    begin: int
    end: int
    following: int  # the sentence behind them
    split: int | None  # the first sentence of the second segment, if there are two
    middle: int | None  # where its tokens begin


def _take(document: Document, sentence: int, target: int, rng: random.Random) -> _Taken:
    """Takes sentences until there are `target` tokens, two if there are."""
    begin = document[sentence]
    following = bisect.bisect_left(document, begin + target, sentence + 1)
    following = min(max(following, sentence + 2), len(document) - 1)
    end = document[following]
    if following == sentence + 1:
        return _Taken(begin, end, following, None, None)
    split = sentence + 1 + _below(following - sentence - 1, rng)
    return _Taken(begin, end, following, split, document[split])


def _halves(taken: _Taken) -> tuple[Span, Span]:
    """The two segments; a sentence that stands alone is cut in two."""
    middle = taken.middle or (taken.begin + taken.end + 1) // 2
    return (taken.begin, middle), (middle, taken.end)


def _other(number: int, documents: int, rng: random.Random) -> int:
    """The number of another document, if there is one."""
    if documents == 1:
        return number
    return (number + 1 + _below(documents - 1, rng)) % documents


def _anywhere(document: Document, target: int, rng: random.Random) -> Span:
    """Sentences from a random one on, until there are `target` tokens."""
    sentence = _below(len(document) - 1, rng)
    begin = document[sentence]
    end = bisect.bisect_left(document, begin + max(target, 1), sentence + 1)
    return begin, document[min(end, len(document) - 1)]


def _truncated(
    first: Span, second: Span, room: int, rng: random.Random
) -> tuple[Span, Span]:
    """Cuts the longer segment first, at a random end for each token."""
    excess = _size(first) + _size(second) - room
    if excess <= 0:
        return first, second
    difference = _size(first) - _size(second)
    alone = min(excess, abs(difference))
    half = (excess - alone) // 2
    cuts = [half, excess - alone - half]
    cuts[int(difference <= 0)] += alone
    return _cut(first, cuts[0], rng), _cut(second, cuts[1], rng)


def _cut(span: Span, number: int, rng: random.Random) -> Span:
    front = rng.getrandbits(number).bit_count()  # a coin for each token
    return span[0] + front, span[1] - (number - front)

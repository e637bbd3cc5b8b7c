"""Sampling the segments of rows of pretraining data.

All functions work on positions in the tokens of a chunk, not on tokens. The tokens
of many rows are later gathered at once (`chunk_rows`).
"""

import bisect
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SHORTEST = 2  # minimum target length of a short row, in tokens

Document = Sequence[int]  # where each sentence begins, then where the last one ends
Span = tuple[int, int]  # begin and end


class Pair(NamedTuple):
    """Two segments; the label is 0 if the second one follows the first in the text."""

    first: Span
    second: Span
    label: int


def next_sentence_pairs(
    documents: Sequence[Document],
    room: int,
    short_share: float,
    rng: random.Random,
) -> Iterator[Pair]:
    """Pairs a segment with the next one, or with a segment of another document.

    Both cases are equally likely. Sentences displaced by a random segment are used
    in the next row. A document of one token gives no pair with label 0. If there is
    only one document, random segments are taken from anywhere in it.

    Args:
        documents: The documents of a chunk.
        room: The maximum number of tokens in both segments together.
        short_share: Share of the rows whose target length is random, up to `room`.
        rng: The random number generator.

    Returns:
        The pairs, as positions in the chunk's tokens.

    Reference: `create_instances_from_document` in google-research/bert. There a
    segment of one sentence is always followed by a random one. Here it gets the
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
    """Pairs a segment with the next one and swaps half of the pairs.

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
    """Cuts documents into segments of full sentences, without dropping any token.

    A sentence longer than `room` is cut.

    Args:
        documents, room, short_share, rng: See `next_sentence_pairs`.
        fill: Whether to fill segments by cutting any sentence.

    Reference: [Liu et al., 2019](https://arxiv.org/abs/1907.11692), section 4.2,
    `DOC-SENTENCES`; with `fill`, transformers' `run_mlm.py`.
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
    """Packs segments into few rows of `room` tokens.

    Args:
        sizes: The number of tokens of each segment, at most `room`.
        room: The number of tokens of a row.

    Returns:
        The indices of the segments of each row.

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
    following: int  # the sentence after them
    split: int | None  # the first sentence of the second segment, if there are two
    middle: int | None  # where its tokens begin


def _take(document: Document, sentence: int, target: int, rng: random.Random) -> _Taken:
    """Takes sentences until there are `target` tokens; two sentences if possible."""
    begin = document[sentence]
    following = bisect.bisect_left(document, begin + target, sentence + 1)
    following = min(max(following, sentence + 2), len(document) - 1)
    end = document[following]
    if following == sentence + 1:
        return _Taken(begin, end, following, None, None)
    split = sentence + 1 + _below(following - sentence - 1, rng)
    return _Taken(begin, end, following, split, document[split])


def _halves(taken: _Taken) -> tuple[Span, Span]:
    """Returns the two segments; a single sentence is cut in the middle."""
    middle = taken.middle or (taken.begin + taken.end + 1) // 2
    return (taken.begin, middle), (middle, taken.end)


def _other(number: int, documents: int, rng: random.Random) -> int:
    """Returns the index of another document, if there is one."""
    if documents == 1:
        return number
    return (number + 1 + _below(documents - 1, rng)) % documents


def _anywhere(document: Document, target: int, rng: random.Random) -> Span:
    """Takes sentences from a random one on, until there are `target` tokens."""
    sentence = _below(len(document) - 1, rng)
    begin = document[sentence]
    end = bisect.bisect_left(document, begin + max(target, 1), sentence + 1)
    return begin, document[min(end, len(document) - 1)]


def _truncated(
    first: Span, second: Span, room: int, rng: random.Random
) -> tuple[Span, Span]:
    """Truncates a pair to `room`, the longer segment first, at random ends."""
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

"""Which tokens of documents make a row of pretraining data."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

SHORTEST = 2  # tokens that a short row aims at, at least


class Document(NamedTuple):
    """The tokens of a document and where its sentences end."""

    ids: np.ndarray  # (n,) int32
    ends: np.ndarray  # (sentences,) int64, rising, the last one n


class Pair(NamedTuple):
    """Two segments, and 0 where the second follows (BERT) or is in order (ALBERT)."""

    first: np.ndarray
    second: np.ndarray
    label: int


def next_sentence_pairs(
    documents: Sequence[Document],
    room: int,
    short_share: float,
    rng: np.random.Generator,
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

    Reference: `create_instances_from_document` in google-research/bert. There a
    segment of one sentence is always followed by a random one; here it gets the
    next sentence, or is cut in two at the end of its document, so that both
    labels stay equally frequent.
    """
    for number, document in enumerate(documents):
        sentence = 0
        while sentence < len(document.ends):
            target = _target(room, short_share, rng)
            taken = _take(document, sentence, target, rng)
            sentence = taken.last + 1
            label = int(rng.random() < 0.5)
            if label:
                first = document.ids[taken.begin : taken.middle or taken.end]
                sentence = sentence if taken.split is None else taken.split
                other = _other(number, len(documents), rng)
                second = _anywhere(documents[other], target - len(first), rng)
            else:
                first, second = _halves(document, taken)
            if len(second):
                yield Pair(*_truncated(first, second, room, rng), label)


def sentence_order_pairs(
    documents: Sequence[Document],
    room: int,
    short_share: float,
    rng: np.random.Generator,
) -> Iterator[Pair]:
    """Pairs a segment with the next one, half of them in the wrong order.

    Args:
        documents, room, short_share, rng: See `next_sentence_pairs`.

    Reference: [Lan et al., 2019](https://arxiv.org/abs/1909.11942), section 3.1.
    """
    for document in documents:
        sentence = 0
        while sentence < len(document.ends):
            target = _target(room, short_share, rng)
            taken = _take(document, sentence, target, rng)
            sentence = taken.last + 1
            first, second = _truncated(*_halves(document, taken), room, rng)
            label = int(rng.random() < 0.5)
            if len(second):
                yield Pair(second, first, 1) if label else Pair(first, second, 0)


def full_sentences(
    documents: Sequence[Document],
    room: int,
    short_share: float,
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Cuts documents into segments of full sentences; no token is left out.

    A sentence that is longer than `room` is cut.

    Args:
        documents, room, short_share, rng: See `next_sentence_pairs`.

    Reference: [Liu et al., 2019](https://arxiv.org/abs/1907.11692), section 4.2,
    `DOC-SENTENCES`.
    """
    for document in documents:
        begin = 0
        while begin < len(document.ids):
            end = begin + _target(room, short_share, rng)
            whole = np.searchsorted(document.ends, end, side="right") - 1
            if whole >= 0 and document.ends[whole] > begin:
                end = int(document.ends[whole])
            yield document.ids[begin:end]
            begin = end


def packed(segments: Sequence[np.ndarray], room: int) -> list[list[np.ndarray]]:
    """Puts segments into as few rows of `room` as best fit finds.

    Args:
        segments: None longer than `room`.
        room: Tokens of a row.

    Reference: best-fit decreasing; [Krell et al.,
    2021](https://arxiv.org/abs/2107.02027).
    """
    rows: list[list[np.ndarray]] = []
    with_room: list[list[int]] = [[] for _ in range(room + 1)]
    for segment in sorted(segments, key=len, reverse=True):
        size = len(segment)
        fitting = next((x for x in range(size, room + 1) if with_room[x]), None)
        if fitting is None:
            rows.append([])
            fitting = room
            with_room[room].append(len(rows) - 1)
        row = with_room[fitting].pop()
        rows[row].append(segment)
        with_room[fitting - size].append(row)
    return rows


def _target(room: int, short_share: float, rng: np.random.Generator) -> int:
    if rng.random() < short_share:
        return int(rng.integers(min(SHORTEST, room), room + 1))
    return room


class _Taken(NamedTuple):
    """Sentences of a document, up to `last`; the tokens from `begin` to `end`."""

    begin: int
    end: int
    last: int
    split: int | None  # the first sentence of the second segment, if there are two
    middle: int | None  # where its tokens begin


def _take(
    document: Document, sentence: int, target: int, rng: np.random.Generator
) -> _Taken:
    """Takes sentences until there are `target` tokens, two if there are."""
    ends = document.ends
    begin = int(ends[sentence - 1]) if sentence else 0
    last = int(np.searchsorted(ends, begin + target))
    last = min(max(last, sentence + 1), len(ends) - 1)
    if last == sentence:
        return _Taken(begin, int(ends[last]), last, None, None)
    split = int(rng.integers(sentence, last)) + 1
    return _Taken(begin, int(ends[last]), last, split, int(ends[split - 1]))


def _halves(document: Document, taken: _Taken) -> tuple[np.ndarray, np.ndarray]:
    """The two segments; a sentence that stands alone is cut in two."""
    middle = taken.middle or (taken.begin + taken.end + 1) // 2
    return document.ids[taken.begin : middle], document.ids[middle : taken.end]


def _other(number: int, documents: int, rng: np.random.Generator) -> int:
    """The number of another document, if there is one."""
    if documents == 1:
        return number
    return int(number + 1 + rng.integers(documents - 1)) % documents


def _anywhere(document: Document, target: int, rng: np.random.Generator) -> np.ndarray:
    """Sentences from a random one on, until there are `target` tokens."""
    sentence = int(rng.integers(len(document.ends)))
    begin = int(document.ends[sentence - 1]) if sentence else 0
    last = int(np.searchsorted(document.ends, begin + max(target, 1)))
    return document.ids[begin : document.ends[min(last, len(document.ends) - 1)]]


def _truncated(
    first: np.ndarray, second: np.ndarray, room: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Cuts the longer segment first, at a random end for each token."""
    lengths = [len(first), len(second)]
    excess = sum(lengths) - room
    if excess <= 0:
        return first, second
    longer = int(lengths[1] >= lengths[0])
    alone = min(excess, abs(lengths[0] - lengths[1]))
    cuts = [0, 0]
    cuts[longer] = alone
    cuts[0] += (excess - alone) // 2
    cuts[1] += excess - alone - (excess - alone) // 2
    return _cut(first, cuts[0], rng), _cut(second, cuts[1], rng)


def _cut(ids: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    front = int(rng.binomial(number, 0.5))
    return ids[front : len(ids) - (number - front)]

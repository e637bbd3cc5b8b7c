"""Tag schemes (BIO, BIOES): allowed transitions, and the spans of tags.

In `B-PER I-PER O`, `B` begins a span of the type `PER`, `I` continues it and `O` is
outside. BIOES adds `E` for the last tag of a span and `S` for a span of one tag (BILOU
calls them `L` and `U`; BMES, of Chinese corpora, calls `I` `M`). In IOB1, the scheme of
CoNLL-2003, `B` is only used for a span that directly follows one of the same type.

A type may also follow small letters (`b-per`) or stand before the prefix (`PER-B`).
"""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

OUTSIDE = "O"  # the tag of what is in no span
_TAG = re.compile(r"O|([BIESULM])(?:-(.+))?")
_SMALL = re.compile(r"o|([biesulm])-(.+)")  # a letter alone is no tag
_SUFFIX = re.compile(r"(.+)-([BIESULM])")
_ALIASES = {"U": "S", "L": "E", "M": "I"}


class Tag(NamedTuple):
    """A tag's prefix, one of `OBIES`, and its type: `"_"` if it names none."""

    prefix: str
    type: str

    def continues(self, before: "Tag") -> bool:
        """Returns whether the tag continues the span of the tag before it."""
        goes_on = self.prefix in "IE" and before.prefix in "BI"
        return goes_on and self.type == before.type


class Transitions(NamedTuple):
    """Allowed pairs of labels `(L, L)` [from, to], first and last labels `(L,)`."""

    pairs: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def parse_tags(tags: Sequence[str], argument: str = "tags") -> list[Tag]:
    """Splits tags, or labels, into prefix and type: `"L-PER"` is `E` of `PER`.

    Raises:
        ValueError: If a tag is neither `"O"` nor a prefix with a type, or if some tags
            have the prefix before the type and others behind it.
    """
    parsed = [_parse(tag, argument) for tag in tags]
    suffixed = [tag for tag in tags if _is_suffixed(tag)]
    others = [tag for tag in tags if "-" in tag and not _is_suffixed(tag)]
    if suffixed and others:
        raise ValueError(
            f"`{argument}` must all be written like 'B-PER', or all like 'PER-B'. "
            f"Received: {others[0]!r} and {suffixed[0]!r}"
        )
    return parsed


def has_scheme(labels: Sequence[str]) -> bool:
    """Returns whether labels have a tag scheme; parts of speech do not.

    Raises:
        ValueError: If only some of the labels have a prefix and a type.
    """
    fits = [_TAG.fullmatch(label) for label in labels]
    if all(fits) or all(map(_is_tag, labels)) or any(x and x[2] for x in fits):
        return any(tag.prefix != OUTSIDE for tag in parse_tags(labels, "labels"))
    return False


def is_bio(tags: Sequence[str]) -> bool:
    """Returns whether tags have the prefixes of BIO, spelled as `to_bio` does."""
    parsed = parse_tags(tags)
    return all(x.prefix in "OBI" for x in parsed) and list(tags) == [
        _written(x.prefix, x) for x in parsed
    ]


def span_types(labels: Sequence[str]) -> list[str]:
    """Returns the sorted span types of labels."""
    return sorted({tag.type for tag in parse_tags(labels, "labels")} - {""})


def allowed_transitions(labels: Sequence[str]) -> Transitions:
    """Returns the transitions that the labels' scheme allows.

    `I-X` and `E-X` must follow `B-X` or `I-X`. If there are `E` or `S` labels, spans
    of several tags must also be closed by `E`. If there is no label `B-X`, `I-X` may
    begin a span. Labels without a scheme allow every transition.

    Args:
        labels: The names of the labels.

    Raises:
        ValueError: If only some of the labels have a prefix.
    """
    size = len(labels)
    if not has_scheme(labels):
        free = np.ones(size, bool)
        return Transitions(np.ones((size, size), bool), free, free)
    tags = parse_tags(labels, "labels")
    must_end = any(tag.prefix in "ES" for tag in tags)
    needs = np.array([x.prefix in "IE" and Tag("B", x.type) in tags for x in tags])
    closed = np.array([not must_end or x.prefix in "OES" for x in tags])
    continues = np.array([[x.continues(before) for x in tags] for before in tags])
    return Transitions(continues | closed[:, None] & ~needs, ~needs, closed)


class Span(NamedTuple):
    """A span of the words from `start` to `end`, exclusive."""

    type: str
    start: int
    end: int


def spans(tags: Sequence[str]) -> list[Span]:
    """Returns the spans of the tags of one sentence; see `to_bio`."""
    found, start = [], 0
    for i, (tag, begins, ends) in enumerate(_edges(tags)):
        start = i if begins else start
        if ends and tag.prefix != OUTSIDE:
            found.append(Span(tag.type, start, i + 1))
    return found


def to_bio(tags: Sequence[str]) -> list[str]:
    """Converts the tags of one sentence from any scheme to BIO.

    Invalid sequences of tags are read as the official scorer reads them.

    Raises:
        ValueError: If a tag has no prefix.
    """
    return [_written("B" if begins else "I", x) for x, begins, _ in _edges(tags)]


def to_bioes(tags: Sequence[str]) -> list[str]:
    """Converts the tags of one sentence to BIOES; see `to_bio`."""
    names = {(True, True): "S", (True, False): "B", (False, True): "E"}
    return [_written(names.get((b, c), "I"), x) for x, b, c in _edges(tags)]


def _is_tag(label: str) -> bool:
    return any(form.fullmatch(label) for form in (_TAG, _SMALL, _SUFFIX))


def _is_suffixed(tag: str) -> bool:
    """Whether a tag is only a tag if its type stands first; `S-B` begins a span `B`."""
    before = _TAG.fullmatch(tag) or _SMALL.fullmatch(tag)
    return before is None and _SUFFIX.fullmatch(tag) is not None


def _parse(tag: str, argument: str) -> Tag:
    match = _TAG.fullmatch(tag) or _SMALL.fullmatch(tag)
    if match is not None:
        prefix, kind = match.groups()
    elif match := _SUFFIX.fullmatch(tag):
        kind, prefix = match.groups()
    else:
        raise ValueError(
            f"`{argument}` must be 'O' or one of the prefixes B, I, E, S, L, U and M "
            f"with a type, such as 'B-PER'. Received: {tag!r}"
        )
    if prefix is None:
        return Tag(OUTSIDE, "")
    prefix = prefix.upper()
    return Tag(_ALIASES.get(prefix, prefix), kind or "_")


def _edges(tags: Sequence[str]) -> list[tuple[Tag, bool, bool]]:
    """Returns each tag, whether a span begins there and whether one ends there."""
    outside = Tag(OUTSIDE, "")
    row = [outside, *parse_tags(tags), outside]
    joined = [x.continues(before) for before, x in itertools.pairwise(row)]
    rows = zip(row[1:-1], joined[:-1], joined[1:], strict=True)
    return [(x, not before, not after) for x, before, after in rows]


def _written(prefix: str, tag: Tag) -> str:
    if tag.prefix == OUTSIDE:
        return OUTSIDE
    return prefix if tag.type == "_" else f"{prefix}-{tag.type}"

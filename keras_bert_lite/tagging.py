"""Tag schemes: which label may follow which, and the spans that labels spell.

In `B-PER I-PER O`, `B` begins a span of the type `PER`, `I` goes on with it and
`O` is outside. BIOES adds `E`, the last of several, and `S`, the only one (BILOU
calls them `L` and `U`). In IOB1, as CoNLL-2003 is written, `B` stands only where a
span follows one of its own type.
"""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_TAG = re.compile(r"O|([BIESUL])(?:-(.+))?")
_ALIASES = {"U": "S", "L": "E"}


class Tag(NamedTuple):
    """A tag's prefix, one of `OBIES`, and its type: `"_"` if it names none."""

    prefix: str
    type: str

    def continues(self, before: "Tag") -> bool:
        """Whether the tag goes on with the span of the one before it."""
        goes_on = self.prefix in "IE" and before.prefix in "BI"
        return goes_on and self.type == before.type


class Transitions(NamedTuple):
    """What a scheme allows: pairs `(L, L)` [from, to], first and last labels `(L,)`."""

    pairs: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def parse_tags(tags: Sequence[str], argument: str = "tags") -> list[Tag]:
    """Splits tags, or labels, into prefix and type: `"L-PER"` is `E` of `PER`.

    Raises:
        ValueError: If one is neither `"O"` nor a prefix with a type.
    """
    return [_parse(tag, argument) for tag in tags]


def has_scheme(labels: Sequence[str]) -> bool:
    """Whether labels spell spans; those of parts of speech do not.

    Raises:
        ValueError: If some labels have a prefix and a type, and others neither.
    """
    fits = [_TAG.fullmatch(label) for label in labels]
    if not all(fits) and any(found and found[2] for found in fits):
        parse_tags(labels, "labels")
    return all(fits) and any(label != "O" for label in labels)


def span_types(labels: Sequence[str]) -> list[str]:
    """Returns the types that labels name, sorted."""
    return sorted({tag.type for tag in parse_tags(labels, "labels")} - {""})


def allowed_transitions(labels: Sequence[str]) -> Transitions:
    """Returns what the labels' scheme allows.

    `I-X` and `E-X` come only after `B-X` or `I-X`. If there are `E` or `S`, a
    span of several must also be ended. Where there is no `B-X` among the
    labels, `I-X` may begin a span. Labels without a scheme allow everything.

    Args:
        labels: The names of the labels.

    Raises:
        ValueError: If some labels have a prefix and others none.
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


def to_bio(tags: Sequence[str]) -> list[str]:
    """Rewrites the tags of one sentence, IOB1 or any scheme, as BIO.

    Tags that their scheme forbids are read as the official scorer reads them.

    Raises:
        ValueError: If a tag has no prefix.
    """
    return [_written("B" if begins else "I", x) for x, begins, _ in _edges(tags)]


def to_bioes(tags: Sequence[str]) -> list[str]:
    """Rewrites the tags of one sentence as BIOES; see `to_bio`."""
    names = {(True, True): "S", (True, False): "B", (False, True): "E"}
    return [_written(names.get((b, c), "I"), x) for x, b, c in _edges(tags)]


def _parse(tag: str, argument: str) -> Tag:
    found = _TAG.fullmatch(tag)
    if found is None:
        raise ValueError(
            f"`{argument}` must be 'O' or one of the prefixes B, I, E, S, L and U "
            f"with a type, such as 'B-PER'. Received: {tag!r}"
        )
    prefix, kind = found.groups()
    if prefix is None:
        return Tag("O", "")
    return Tag(_ALIASES.get(prefix, prefix), kind or "_")


def _edges(tags: Sequence[str]) -> list[tuple[Tag, bool, bool]]:
    """Each tag, with whether a span begins and whether one ends at it."""
    outside = Tag("O", "")
    row = [outside, *parse_tags(tags), outside]
    joined = [x.continues(before) for before, x in itertools.pairwise(row)]
    rows = zip(row[1:-1], joined[:-1], joined[1:], strict=True)
    return [(x, not before, not after) for x, before, after in rows]


def _written(prefix: str, tag: Tag) -> str:
    if tag.prefix == "O":
        return "O"
    return prefix if tag.type == "_" else f"{prefix}-{tag.type}"

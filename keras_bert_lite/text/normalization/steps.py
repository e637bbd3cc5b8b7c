"""The steps of normalization before SentencePiece, character by character."""

import dataclasses
import functools
import itertools
import unicodedata

from keras_bert_lite.text.normalization.charsmap import read_charsmap
from keras_bert_lite.text.unicode import (
    graphemes,
    properties,
)
from keras_bert_lite.text.unicode.code_points import code_points, pairs

METASPACE = "▁"
# The reference's `char::is_whitespace` and `\s`.
WHITE_SPACE = frozenset(
    itertools.chain(
        range(0x9, 0xE),
        range(0x2000, 0x200B),
        (0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
    )
)
STEPS = (
    "quotes",
    "lowercase",
    "strip_accents",
    "nfc",
    "charsmap",
    "collapse_spaces",
    "collapse_white_space",
    "strip",
    "strip_right",
)


EXTENDS = code_points(graphemes.EXTENDS)
PREPENDS = code_points(graphemes.PREPENDS)
PICTOGRAPHS = code_points(graphemes.PICTOGRAPHS)
PUNCTUATION = code_points(properties.PUNCTUATION)
_DECOMPOSED = code_points(graphemes.DECOMPOSED)
_MARKS = code_points(graphemes.MARKS)
_LATE_LOWERCASE = pairs(properties.LATE_LOWERCASE)


@dataclasses.dataclass(frozen=True)
class Steps:
    """The normalization of text before it is cut into words.

    Args:
        names: Names of `STEPS`, in order.
        charsmap: The `precompiled_charsmap` for the step `"charsmap"`.
    """

    names: tuple[str, ...] = ()
    charsmap: bytes = b""

    def __post_init__(self):
        unknown = [name for name in self.names if name not in STEPS]
        if unknown:
            raise ValueError(
                f"`normalization` must be made of {STEPS}. Received: {unknown}"
            )
        if ("charsmap" in self.names) != bool(self.charsmap):
            raise ValueError(
                '`charsmap` and the step "charsmap" must be given together. '
                f"Received: {len(self.charsmap)} bytes and the steps {self.names}"
            )
        read_charsmap(self.charsmap)

    @property
    def keys(self) -> dict[str, str]:
        return read_charsmap(self.charsmap)

    def image(self, character: str, names: tuple[str, ...] | None = None) -> str:
        """Returns the image of a single character under the steps."""
        for name in self.names if names is None else names:
            if name == "lowercase":
                character = "".join(map(lower, character))
            elif name == "strip_accents":
                character = _strip_accents(character)
            elif name == "nfc":
                character = unicodedata.normalize("NFC", character)
            elif name == "charsmap":
                character = "".join(self.keys.get(x, x) for x in character)
            elif name == "collapse_white_space":
                character = character.translate({9: " ", 10: " ", 13: " "})
        return character

    def images(self, names: tuple[str, ...] | None = None) -> dict[int, str]:
        """Returns the images of all code points that change on their own."""
        return _images(self, self.names if names is None else names)


def lower(character: str) -> str:
    """Lower-cases one character, by the reference's tables."""
    return _LATE_LOWERCASE.get(character) or character.lower()


def _strip_accents(text: str) -> str:
    parts = (
        unicodedata.normalize("NFKD", x) if ord(x) in _DECOMPOSED else x for x in text
    )
    return "".join(x for x in "".join(parts) if ord(x) not in _MARKS)


@functools.lru_cache(maxsize=32)
def _images(steps: Steps, names: tuple[str, ...]) -> dict[int, str]:
    candidates = set(_DECOMPOSED | _MARKS) if "strip_accents" in names else set()
    if "charsmap" in names:
        candidates.update(ord(key) for key in steps.keys if len(key) == 1)
    if "nfc" in names:
        candidates |= {c for c in _DECOMPOSED if not _is_nfc(c)}
    if "lowercase" in names:
        candidates |= _cased()
    if "collapse_white_space" in names:
        candidates |= {9, 10, 13}
    images = {c: steps.image(chr(c), names) for c in candidates}
    return {c: image for c, image in images.items() if image != chr(c)}


def _is_nfc(code_point: int) -> bool:
    return unicodedata.is_normalized("NFC", chr(code_point))


@functools.cache
def _cased() -> frozenset[int]:
    letters = itertools.chain(range(0xD800), range(0xE000, 0x20000))
    return frozenset(c for c in letters if lower(chr(c)) != chr(c))

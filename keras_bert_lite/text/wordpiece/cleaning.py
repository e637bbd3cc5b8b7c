"""BERT's text cleaning as one table from code points to replacements.

`BertNormalizer` of Hugging Face's `tokenizers` (after Google's
`BasicTokenizer`) treats every code point separately: it deletes control
characters, turns all white space into U+0020, sets Chinese characters apart,
decomposes (NFD), drops combining marks and lower-cases. The table built here
does all of that in one look-up. It also makes tensorflow-text's WordPiece
kernel split words where the reference does.
"""

import dataclasses
import functools
import itertools
import unicodedata
from typing import NamedTuple

from keras_bert_lite.text.unicode import properties
from keras_bert_lite.text.unicode.code_points import code_points, pairs

# Where the kernel would split a word and the reference does not, a stand-in
# replaces the character, both in the text and in the vocabulary. Stand-ins are
# private-use characters; cleaning deletes these from any text, so no text can
# contain its own.
STAND_IN_RANGES = (range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFD))
# Prefix of the stand-ins for pieces that no text can contain.
UNREACHABLE = chr(0x10FFFD)
# First of the stand-ins for special tokens that are recognized in text.
FIRST_SPECIAL_STAND_IN = 0xE000


class Characters(NamedTuple):
    """Code points that the reference or the kernel treats specially."""

    deleted: frozenset[int]
    spaces: frozenset[int]
    marks: frozenset[int]
    whole: frozenset[int]
    cjk: frozenset[int]
    punctuation: frozenset[int]
    kernel_boundaries: frozenset[int]
    late_lowercase: dict[str, str]
    stand_ins: dict[str, str]


@functools.cache
def characters() -> Characters:
    """Returns the tables; reading them takes 50 ms."""
    punctuation = code_points(properties.PUNCTUATION)
    kernel_boundaries = code_points(properties.KERNEL_BOUNDARIES)
    hidden = sorted(kernel_boundaries - punctuation)
    stand_ins = itertools.chain(*STAND_IN_RANGES)
    return Characters(
        deleted=code_points(properties.DELETED),
        spaces=code_points(properties.SPACES),
        marks=code_points(properties.MARKS),
        whole=code_points(properties.WHOLE),
        cjk=code_points(properties.CJK),
        punctuation=punctuation,
        kernel_boundaries=kernel_boundaries,
        late_lowercase=pairs(properties.LATE_LOWERCASE),
        stand_ins={chr(c): chr(i) for c, i in zip(hidden, stand_ins, strict=False)},
    )


# The only characters of plane 2 that decompose; none there is upper-case.
_CJK_COMPATIBLE = range(0x2F800, 0x2FA20)


@dataclasses.dataclass(frozen=True)
class Normalization:
    """The options of BERT's text cleaning.

    Args:
        lowercase: Whether to lower-case, character by character (`İ` keeps
            its dot above unless accents are stripped; no final sigma).
        strip_accents: Whether to decompose (NFD) and drop combining marks.
        split_cjk: Whether each Chinese character is a word of its own.

    Reference: `BertNormalizer` in Hugging Face tokenizers, `BasicTokenizer`
    in google-research/bert `tokenization.py`.
    """

    lowercase: bool = True
    strip_accents: bool = True
    split_cjk: bool = True

    def normalize_character(self, code_point: int) -> str:
        """Returns the reference's replacement of one code point."""
        known = characters()
        if code_point in known.deleted:
            return ""
        if code_point in known.spaces:
            return " "
        text = chr(code_point)
        if self.strip_accents and code_point not in known.whole:
            text = unicodedata.normalize("NFD", text)
        if self.strip_accents:
            text = "".join(x for x in text if ord(x) not in known.marks)
        if self.lowercase:
            text = "".join(map(_lower, text))
        return text

    def map_character(self, code_point: int) -> str:
        """Returns the text that the kernel reads in place of one code point."""
        known = characters()
        cjk = self.split_cjk and code_point in known.cjk
        return "".join(
            self._delimit(x, cjk) for x in self.normalize_character(code_point)
        )

    def map_piece(self, piece: str) -> str:
        """Returns a vocabulary piece in the form that the kernel finds in text."""
        known = characters()
        letters = piece.removeprefix("##")
        if letters.isascii() and letters.isalnum():  # nearly all pieces
            return piece
        if any(ord(x) in known.deleted or ord(x) in known.spaces for x in piece):
            return UNREACHABLE + piece.encode().hex()
        return "".join(
            x if self._apart(x) else known.stand_ins.get(x, x) for x in piece
        )

    def code_point_map(self) -> dict[int, str]:
        """Returns the replacements of all code points that change."""
        return _code_point_map(self)

    def _apart(self, character: str) -> bool:
        known = characters()
        code_point = ord(character)
        return code_point in known.punctuation or (
            self.split_cjk and code_point in known.cjk
        )

    def _delimit(self, character: str, cjk: bool) -> str:
        known = characters()
        code_point = ord(character)
        boundary = cjk or code_point in known.punctuation
        if boundary and code_point not in known.kernel_boundaries:
            return f" {character} "
        if not boundary and code_point in known.kernel_boundaries:
            return known.stand_ins[character]
        return character


def _candidates(split_cjk: bool) -> frozenset[int]:
    """Returns the code points that may change, found by cheap tests."""
    known = characters()
    boundaries = known.punctuation | known.cjk if split_cjk else known.punctuation
    return (known.spaces | known.marks | (known.kernel_boundaries ^ boundaries)).union(
        c
        for c in itertools.chain(range(0xD800), range(0xE000, 0x20000), _CJK_COMPATIBLE)
        if not unicodedata.is_normalized("NFD", chr(c)) or _lower(chr(c)) != chr(c)
    )


def _lower(character: str) -> str:
    known = characters()
    return known.late_lowercase.get(character) or character.lower()


@functools.cache
def _code_point_map(normalization: Normalization) -> dict[int, str]:
    known = characters()
    images = {
        c: normalization.map_character(c) for c in _candidates(normalization.split_cjk)
    }
    changed = {c: image for c, image in images.items() if image != chr(c)}
    return changed | dict.fromkeys(known.deleted, "")

"""The alphabet in which words are found: classes of characters as ranges.

`FastBertNormalize` writes every code point as one that the WordPiece kernel
treats as an ordinary letter, so that the kernel splits only at the spaces inserted
by the pattern. Each character of the vocabulary gets its own stand-in; all others
of a class share one. Stand-ins of a class are neighbours, which keeps the pattern's
automaton small.
"""

import functools
from collections.abc import Iterable

from keras_bert_lite.text.unicode import character_classes
from keras_bert_lite.text.unicode.code_points import code_points
from keras_bert_lite.text.wordpiece.cleaning import characters

# Frequent characters that the kernel would split at; stand-ins of one byte.
_SHORT = " '.,-\"()!?:;/@$%&*#+=<>[]\n"
# Not U+0011: the kernel's model uses it as a marker.
_SHORT_STAND_INS = [
    chr(c) for c in (*range(1, 9), *range(0xE, 0x11), *range(0x12, 0x20), 0x7F)
]
_FIRST = {"letter": 0xF0000, "number": 0xFC000, "space": 0xFE000, "other": 0x100000}
_MOST = {"letter": 0xC000, "number": 0x2000, "space": 0x100, "other": 0xFFFD}
# Prefix of the stand-ins for pieces that are not words.
UNREACHABLE = chr(0x10FFFD)
SPACE, APOSTROPHE = _SHORT_STAND_INS[:2]


@functools.cache
def _classes() -> dict[int, str]:
    ranges = {
        "letter": character_classes.LETTERS,
        "number": character_classes.NUMBERS,
        "space": character_classes.SPACES,
    }
    return {c: name for name, text in ranges.items() for c in code_points(text)}


class Alphabet:
    """Stand-ins for the characters of a vocabulary.

    Args:
        characters: The characters to distinguish.

    Attributes:
        images: The stand-ins of code points.
        letters, numbers, spaces: The stand-ins of a class, as the content
            of brackets in a regular expression. All other characters are "other".
    """

    def __init__(self, characters: Iterable[str]) -> None:
        stand_ins: dict[str, list[str]] = {name: [""] for name in _FIRST}
        for character in sorted(set(characters)):
            if not _stays(character) and character not in _SHORT:
                stand_ins[_class(character)].append(character)
        images = {}
        for name, members in stand_ins.items():
            for i, character in enumerate(members[1 : _MOST[name]], 1):
                images[ord(character)] = chr(_FIRST[name] + i)
        self._known = frozenset(images)
        short = zip(_SHORT, _SHORT_STAND_INS, strict=False)
        images |= {ord(character): stand_in for character, stand_in in short}
        self.images = _shared_images(stand_ins) | images
        used = {name: _range(_FIRST[name], len(x)) for name, x in stand_ins.items()}
        self.letters = "A-Za-z" + used["letter"]
        self.numbers = "0-9" + used["number"]
        self.spaces = f"{SPACE}{self.images[10]}{used['space']}"
        self._spaces = stand_ins["space"]

    def spaces_without(self, excluded: str) -> str:
        """Returns `spaces` without some characters of the alphabet."""
        first = _FIRST["space"]
        kept = {first + i for i, x in enumerate(self._spaces) if x not in excluded}
        names = "".join(rf"\x{{{c:x}}}" for c in sorted(kept | {first}))
        return SPACE + names + self.images[10] * ("\n" not in excluded)

    def write(self, text: str) -> str | None:
        """Returns text in stand-ins, or `None` if a character has none."""
        for character in text:
            known = _stays(character) or character in _SHORT
            if not known and ord(character) not in self._known:
                return None
        return "".join(self.images.get(ord(x), x) for x in text)


def _shared_images(stand_ins: dict[str, list[str]]) -> dict[int, str]:
    """Returns shared stand-ins of characters that need not be distinguished."""
    shared = {name: chr(first) for name, first in _FIRST.items()}
    hidden = {*range(128), *characters().kernel_boundaries}
    for name, members in stand_ins.items():
        first = _FIRST[name]
        hidden.update(range(first, first + len(members)))
    images = dict.fromkeys([*hidden, ord(UNREACHABLE)], shared["other"])
    images |= {c: shared[name] for c, name in _classes().items()}
    return {c: x for c, x in images.items() if not _stays(chr(c))}


def _stays(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _class(character: str) -> str:
    return _classes().get(ord(character), "other")


def _range(first: int, count: int) -> str:
    return rf"\x{{{first:x}}}-\x{{{first + count - 1:x}}}"

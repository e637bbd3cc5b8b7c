"""The fast path of normalization: one look-up per character.

Nearly all strings can be normalized character by character. A conservative
regular expression finds the others, which go through `Normalizer`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from keras_bert_lite._tensorflow import tf, tf_text
from keras_bert_lite.text.normalization import steps as steps_of
from keras_bert_lite.text.normalization.charsmap import MAX_CLUSTER_BYTES
from keras_bert_lite.text.normalization.composition import changing_patterns
from keras_bert_lite.text.normalization.steps import METASPACE, Steps
from keras_bert_lite.text.sentence_piece.words import StandIns
from keras_bert_lite.text.unicode.code_points import character_class
from keras_bert_lite.text.wordpiece.character_map import compile_character_map

_MAX_IMAGE = 63  # bytes
_PLANES = range(0x80, 0x30000)  # where unknown characters get a stand-in


class FastPath:
    """Normalizes strings to the input of the kernel.

    Args:
        steps: The steps of normalization.
        stand_ins: The stand-ins of tokens and other characters.
        known: The characters in pieces.
        split_white_space, split_punctuation: As in `Words`.
    """

    def __init__(
        self,
        steps: Steps,
        stand_ins: StandIns,
        known: Iterable[str],
        split_white_space: bool,
        split_punctuation: bool,
    ) -> None:
        self._steps = steps
        self._stand_ins = stand_ins
        self._known = frozenset(known)
        self._split_white_space = split_white_space
        self._split_punctuation = split_punctuation
        images = self._images()
        long = {c for c, x in images.items() if len(x.encode()) > _MAX_IMAGE}
        kept = {c: x for c, x in images.items() if c not in long}
        self._normalizer = tf_text.FastBertNormalizer(
            model_buffer=compile_character_map(kept)
        )
        self.rare = f"(?s).*(?:{'|'.join(self._rare(long))}).*"

    def __call__(self, strings: tf.Tensor) -> tf.Tensor:
        if "quotes" in self._steps.names:
            strings = tf.strings.regex_replace(strings, "``|''", self._stand_ins.quote)
        return self._normalizer.normalize(strings)

    def is_rare(self, strings: tf.Tensor) -> tf.Tensor:
        """(B,) bool: which strings need `Normalizer`."""
        return tf.strings.regex_full_match(strings, self.rare)

    def _images(self) -> dict[int, str]:
        changed = self._steps.images()
        known = {ord(x) for x in self._known}
        plain = itertools.chain(range(1, 0x80), known, steps_of.WHITE_SPACE, changed)
        images = {c: self._written(changed.get(c, chr(c))) for c in plain}
        unknown = dict.fromkeys(_PLANES, self._stand_ins.unknown)
        for c in range(0xD800, 0xE000):
            del unknown[c]
        images = unknown | images
        images[0] = self._stand_ins.unknown if 0 not in known else "\0"
        if self._split_punctuation:
            marks = (c for c in steps_of.PUNCTUATION if c not in images or c in unknown)
            images |= {c: self._written(changed.get(c, chr(c))) for c in marks}
        for token, stand_in in self._stand_ins.of_token.items():
            if len(token) == 1:
                images[ord(token)] = f" {stand_in} "
        images[ord(self._stand_ins.quote)] = self._written('"')
        return {c: image for c, image in images.items() if image != chr(c)}

    def _written(self, text: str) -> str:
        """Returns the input of the kernel for normalized characters."""
        written = "".join(map(self._character, text))
        unknown = self._stand_ins.unknown
        while unknown * 2 in written:  # they become one token anyway
            written = written.replace(unknown * 2, unknown)
        return written

    def _character(self, character: str) -> str:
        if character == " ":
            return " "
        if self._split_white_space and ord(character) in steps_of.WHITE_SPACE:
            return " "
        known = character in self._known
        written = character if known else self._stand_ins.unknown
        if self._split_punctuation and ord(character) in steps_of.PUNCTUATION:
            return f" {written} "
        return written

    def _rare(self, long: Iterable[int]) -> Iterable[str]:
        names = self._steps.names
        yield self._stand_ins.pattern
        tokens = self._stand_ins.of_token
        yield from (re.escape(x) for x in tokens if len(x) > 1)
        changed = self._steps.images()
        metaspaces = {c for c, image in changed.items() if METASPACE in image}
        if METASPACE not in changed.get(ord(METASPACE), METASPACE):
            yield from _classes(metaspaces | set(long))
        else:
            yield from _classes(metaspaces | set(long) | {ord(METASPACE)})
        if "charsmap" in names:
            yield from self._clusters()
        if "nfc" in names:
            earlier = self._steps.images(names[: names.index("nfc")])
            yield from changing_patterns(earlier)
        if not self._split_white_space:
            yield from self._spaces(changed)

    def _clusters(self) -> Iterable[str]:
        """Yields patterns of clusters that may be replaced as a whole."""
        names = self._steps.names
        earlier = self._steps.images(names[: names.index("charsmap")])
        firsts = {key[0] for key in self._steps.keys}
        gone = {c for c, image in earlier.items() if not image}
        for size in range(1, MAX_CLUSTER_BYTES):
            sized = {x for x in firsts if len(x.encode()) == size}
            before = {ord(x) for x in sized if ord(x) not in earlier}
            before |= {c for c, x in earlier.items() if x and x[-1] in sized}
            room = MAX_CLUSTER_BYTES - size
            extends = {c for c in steps_of.EXTENDS if len(chr(c).encode()) <= room}
            after = {c for c in extends if c not in earlier}
            after |= {c for c, x in earlier.items() if x and ord(x[0]) in extends}
            if before and after:
                between = f"{character_class(gone)}*" if gone else ""
                yield f"{character_class(before)}{between}{character_class(after)}"
        inside = (c for c, x in earlier.items() if _has_extended(x))
        yield from _classes(set(inside))
        yield r"\r\n"

    def _spaces(self, changed: dict[int, str]) -> Iterable[str]:
        """Yields patterns of spaces that need `Normalizer` if each begins a word."""
        names = self._steps.names
        plain = " \n\r\t" if "collapse_white_space" in names else " "
        odd = steps_of.WHITE_SPACE - {ord(x) for x in plain}
        stripped = {"strip", "strip_right"} & set(names)
        spaces = {c for c, image in changed.items() if " " in image}
        if stripped:
            yield f"{character_class(spaces | odd)}$"
            yield f"^{character_class(spaces | odd)}"
        else:
            yield f"{character_class(spaces | steps_of.WHITE_SPACE)}$"
        if "collapse_white_space" in names:
            yield character_class(odd)
        elif "collapse_spaces" not in names:
            yield f"{character_class(spaces | {ord(' ')})}{{2}}"
        if self._split_punctuation:
            before = character_class(spaces | {ord(" ")})
            yield before + character_class(steps_of.PUNCTUATION)
        singles = {ord(x) for x in self._stand_ins.of_token if len(x) == 1}
        yield from _classes(singles)


def _has_extended(text: str) -> bool:
    return any(ord(x) in steps_of.EXTENDS for x in text[1:])


def _classes(code_points: set[int]) -> Iterable[str]:
    if code_points:
        yield character_class(code_points)

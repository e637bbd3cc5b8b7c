"""Tokens that are found in text before it is cut into pieces.

As in Hugging Face's `AddedVocabulary`, the first of overlapping tokens is found, and
the longest of those with the same start.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.unicode.character_classes import SPACES, WORDS
from keras_bert_lite.text.unicode.code_points import (
    character_class,
    code_points,
    ranges,
)

FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
SPACE_RANGES = ranges(SPACES)
SPACE_PATTERN = character_class(code_points(SPACES))
WORD_PATTERN = character_class(code_points(WORDS))
# A surrogate, which valid UTF-8 never contains, and a pattern for it.
CUT, CUT_PATTERN = b"\xed\xa0\x80", r"\x{D800}"


def replace_tokens(strings: tf.Tensor, replacements: Mapping[str, str]) -> tf.Tensor:
    """Replaces tokens in strings `(B,)`.

    Args:
        strings: Valid UTF-8.
        replacements: The replacement of each token.
    """
    replace = tf.strings.regex_replace
    if not _can_overlap(replacements):  # saves a pass
        for token, new in replacements.items():
            strings = replace(strings, re.escape(token), new)
        return strings
    strings = replace(strings, any_of(replacements), CUT + rb"\1" + CUT)
    for token, new in replacements.items():
        strings = replace(strings, CUT_PATTERN + re.escape(token) + CUT_PATTERN, new)
    return strings


def _can_overlap(tokens: Iterable[str]) -> bool:
    """Returns whether a token can begin inside another or at its start."""
    known = set(tokens)
    beginnings = {token[:i] for token in known for i in range(1, len(token))}
    return any(
        part != token and (part in known or (j == len(token) and part in beginnings))
        for token in known
        for i, j in itertools.combinations(range(len(token) + 1), 2)
        for part in [token[i:j]]
    )


def any_of(tokens: Iterable[str]) -> str:
    """Returns a pattern of the tokens, which prefers the longest match."""
    return f"({'|'.join(re.escape(x) for x in sorted(tokens, key=len, reverse=True))})"


def with_spaces_before(
    strings: tf.Tensor, rows: tf.Tensor, starts: tf.Tensor
) -> tf.Tensor:
    """Moves starts to the beginning of the white space before them.

    Args:
        strings: Valid UTF-8, `(B,)`.
        rows: The index of the string of each start, `(T,)` int64.
        starts: In code points, `(T,)` int32.

    Returns:
        The new starts, `(T,)` int32.
    """
    points = tf.strings.unicode_decode(strings, "UTF-8")
    shift = tf.gather(points.row_starts(), rows)
    is_space = tf.reduce_any(
        [
            (points.values >= span.start) & (points.values < span.stop)
            for span in SPACE_RANGES
        ],
        axis=0,
    )
    others = tf.where(~is_space)[:, 0]
    position = tf.cast(starts, tf.int64) + shift
    before = tf.searchsorted(others, position) - 1  # the last that is not a space
    behind = tf.gather(tf.concat([[-1], others], 0), before + 1) + 1
    return tf.cast(tf.maximum(behind, shift) - shift, tf.int32)


def check_flags(
    flags: Mapping[str, Sequence[str]] | None, known: Mapping[str, int]
) -> dict[str, list[str]]:
    """Returns the flags of tokens; refuses invalid ones."""
    given = dict(flags or {})
    for token, names in given.items():
        if token not in known or not set(names) <= set(FLAGS):
            raise ValueError(
                f"`token_flags` must map tokens of the vocabulary to flags {FLAGS}. "
                f"Received: {names!r} for {token!r}"
            )
    return {token: list(names) for token, names in given.items() if names}


def refuse_flags(
    found: Sequence[str], flags: Mapping[str, Sequence[str]], allowed: Mapping[str, set]
) -> None:
    """Refuses flags that a tokenizer would ignore.

    Args:
        found: The tokens that are found in text.
        flags: The flags of tokens.
        allowed: The flags that the tokenizer honours, by token.

    Raises:
        ValueError: If a token has any other flag.
    """
    for token in found:
        others = set(flags.get(token, ())) - allowed.get(token, set())
        if others:
            raise ValueError(
                f"{token!r} can be found in text only without the flags "
                f"{sorted(others)}. Received: {list(flags[token])}; with "
                "`special_tokens_in_text=False`, special tokens are plain text"
            )

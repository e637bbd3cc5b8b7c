"""Tokens that are found in text before it is cut into pieces.

As Hugging Face's `AddedVocabulary` finds them: of tokens that overlap the one that
begins first, of those that begin together the longest.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

import tensorflow as tf

from keras_bert_lite.text.unicode.character_classes import SPACES
from keras_bert_lite.text.unicode.code_points import ranges

FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
SPACE_RANGES = ranges(SPACES)
# A surrogate, which valid UTF-8 has none of; and a pattern that finds it.
CUT, _CUT = b"\xed\xa0\x80", r"\x{D800}"


def replace_tokens(strings: tf.Tensor, replacements: Mapping[str, str]) -> tf.Tensor:
    """Replaces tokens in strings `(B,)`.

    Args:
        strings: Valid UTF-8.
        replacements: What stands for each token afterwards.
    """
    replace = tf.strings.regex_replace
    if not _can_overlap(replacements):  # one pass less
        for token, new in replacements.items():
            strings = replace(strings, re.escape(token), new)
        return strings
    strings = replace(strings, _any_of(replacements), CUT + rb"\1" + CUT)
    for token, new in replacements.items():
        strings = replace(strings, _CUT + re.escape(token) + _CUT, new)
    return strings


def _can_overlap(tokens: Iterable[str]) -> bool:
    """Whether a text can have a token that begins inside of another, or with it."""
    known = set(tokens)
    beginnings = {token[:i] for token in known for i in range(1, len(token))}
    return any(
        part != token and (part in known or (j == len(token) and part in beginnings))
        for token in known
        for i, j in itertools.combinations(range(len(token) + 1), 2)
        for part in [token[i:j]]
    )


def _any_of(tokens: Sequence[str] | Mapping[str, str]) -> str:
    """Returns a pattern of any of the tokens, the longest of those that fit."""
    return f"({'|'.join(re.escape(x) for x in sorted(tokens, key=len, reverse=True))})"


def with_spaces_before(
    strings: tf.Tensor, rows: tf.Tensor, starts: tf.Tensor
) -> tf.Tensor:
    """Moves starts to the beginning of the white space before them.

    Args:
        strings: Valid UTF-8, `(B,)`.
        rows: The string of each start, `(T,)` int64.
        starts: Code points, `(T,)` int32.

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
    place = tf.cast(starts, tf.int64) + shift
    before = tf.searchsorted(others, place) - 1  # the last that is no space
    behind = tf.gather(tf.concat([[-1], others], 0), before + 1) + 1
    return tf.cast(tf.maximum(behind, shift) - shift, tf.int32)


def check_flags(
    flags: Mapping[str, Sequence[str]] | None, known: Mapping[str, int]
) -> dict[str, list[str]]:
    """Returns the flags of tokens, or says what is wrong with them."""
    given = dict(flags or {})
    for token, names in given.items():
        if token not in known or not set(names) <= set(FLAGS):
            raise ValueError(
                f"`token_flags` must give tokens of the vocabulary flags of {FLAGS}. "
                f"Received: {names!r} for {token!r}"
            )
    return {token: list(names) for token, names in given.items() if names}


def refuse_flags(
    found: Sequence[str], flags: Mapping[str, Sequence[str]], allowed: Mapping[str, set]
) -> None:
    """Refuses flags that a tokenizer would find tokens without.

    Args:
        found: The tokens that are found in text.
        flags: Those that tokens have.
        allowed: Those that the tokenizer honours, by token.

    Raises:
        ValueError: If one is not among them.
    """
    for token in found:
        others = set(flags.get(token, ())) - allowed.get(token, set())
        if others:
            raise ValueError(
                f"{token!r} can be found in text only without the flags "
                f"{sorted(others)}. Received: {list(flags[token])}; of special tokens, "
                "`special_tokens_in_text=False` takes them for plain text"
            )

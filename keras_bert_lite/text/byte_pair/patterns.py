r"""The patterns that split text into words, and the same for RE2.

RE2 has no look-ahead (`\s+(?!\S)`). A first pattern cuts a run of white space before
its last character if text follows; then a second matches words.
"""

from collections.abc import Callable
from typing import NamedTuple

from keras_bert_lite.text.byte_pair.alphabet import APOSTROPHE, SPACE, Alphabet

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class SplitPattern(NamedTuple):
    """A pattern in the stand-ins of an `Alphabet`.

    Args:
        characters: The characters that the pattern names; the alphabet must tell
            them from others.
        written: Returns the two patterns for RE2, in the stand-ins of an alphabet.
    """

    characters: str
    written: Callable[[Alphabet], tuple[str, str]]


def _gpt2(alphabet: Alphabet) -> tuple[str, str]:
    letters, numbers, spaces = alphabet.letters, alphabet.numbers, alphabet.spaces
    cut = f"([{spaces}]+)([{spaces}][^{spaces}])"
    suffixes = f"{APOSTROPHE}(?:[stmd]|re|ve|ll)"
    others = f"[^ {spaces}{letters}{numbers}]+"
    words = f"{SPACE}?(?:[{letters}]+|[{numbers}]+|{others})"
    return cut, f"{suffixes}|{words}|[{spaces}]+"


def _llama3(alphabet: Alphabet) -> tuple[str, str]:
    letters, numbers, spaces = alphabet.letters, alphabet.numbers, alphabet.spaces
    line_ends = alphabet.images[ord("\r")] + alphabet.images[ord("\n")]
    blanks = alphabet.spaces_without("\r\n")
    # White space up to a line end is a word, so what stands behind it is cut.
    cut = f"([{spaces}]*[{blanks}])([{blanks}][^{spaces}])"
    long_s = alphabet.images[ord("ſ")]
    suffixes = f"(?:[sS{long_s}tTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"
    words = f"[^ {line_ends}{letters}{numbers}]?[{letters}]+|[{numbers}]{{1,3}}"
    others = f"{SPACE}?[^ {spaces}{letters}{numbers}]+[{line_ends}]*"
    lines = f"[{spaces}]*[{line_ends}]+"
    return cut, f"{APOSTROPHE}{suffixes}|{words}|{others}|{lines}|[{spaces}]+"


# By the pattern in tokenizer.json; `ByteLevel` has GPT-2's.
PATTERNS = {
    GPT2: SplitPattern("", _gpt2),
    LLAMA3: SplitPattern("\r\nſ", _llama3),
}

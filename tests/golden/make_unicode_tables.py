"""Writes keras_bert_lite/text/unicode/properties.py from the reference tokenizer.

Asks Hugging Face's `tokenizers` what it does with every Unicode code point
and `tensorflow-text` where its WordPiece kernel splits, and writes the facts
down as ranges. Run it from the repository root when either library changes:

    python tests/golden/make_unicode_tables.py
"""

import sys
import textwrap
import unicodedata
from pathlib import Path

import tensorflow_text as tf_text
import tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

TARGET = Path("keras_bert_lite/text/unicode/properties.py")
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def normalizer(**options):
    switches = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return BertNormalizer(**{name: options.get(name, False) for name in switches})


def images(**options):
    """What one switch of BertNormalizer makes of each code point."""
    run = normalizer(**options).normalize_str
    return {c: run(f"a{chr(c)}b")[1:-1] for c in CODE_POINTS}


def reference_punctuation():
    split = BertPreTokenizer().pre_tokenize_str
    return [
        c
        for c in CODE_POINTS
        if [word for word, _ in split(f"a{chr(c)}b")] == ["a", chr(c), "b"]
    ]


def kernel_boundaries():
    """Code points that the tf-text kernel takes for words of their own."""
    kernel = tf_text.FastWordpieceTokenizer(["a", "[UNK]"])
    lengths = kernel.tokenize([f"a{chr(c)}a" for c in CODE_POINTS]).row_lengths()
    return [c for c, n in zip(CODE_POINTS, lengths.numpy(), strict=True) if n == 3]


def as_ranges(code_points):
    spans = []
    for c in sorted(code_points):
        if spans and spans[-1][1] == c - 1:
            spans[-1][1] = c
        else:
            spans.append([c, c])
    return " ".join(f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in spans)


def collect():
    clean = images(clean_text=True)
    stripped = images(strip_accents=True)
    lowered = images(lowercase=True)
    chinese = images(handle_chinese_chars=True)
    decompose = unicodedata.normalize
    marks = [
        c for c in CODE_POINTS if not stripped[c] and chr(c) == decompose("NFD", chr(c))
    ]
    removed = {chr(c) for c in marks}
    whole = []
    for c in CODE_POINTS:
        parts = decompose("NFD", chr(c))
        if stripped[c] == chr(c) != parts:
            whole.append(c)
        elif stripped[c] != "".join(x for x in parts if x not in removed):
            raise SystemExit(f"U+{c:04X}: NFD of this Python is not the reference's")
    late = {c: lowered[c] for c in CODE_POINTS if lowered[c] != chr(c).lower()}
    if any(len(x) != 1 for x in late.values()):
        raise SystemExit("a late lower case is not a single character")
    cjk = [c for c in CODE_POINTS if chinese[c] == f" {chr(c)} "]
    punctuation = reference_punctuation()
    late_pairs = " ".join(f"{c:x}>{ord(x):x}" for c, x in late.items())
    return {
        "DELETED": (
            "Removed by the reference's `clean_text`.",
            as_ranges(c for c in CODE_POINTS if not clean[c]),
        ),
        "SPACES": (
            "Turned into a space by `clean_text`.",
            as_ranges(c for c in CODE_POINTS if clean[c] == " "),
        ),
        "MARKS": ("Removed by `strip_accents` after NFD.", as_ranges(marks)),
        "WHOLE": ("Too new for the reference's NFD: left whole.", as_ranges(whole)),
        "CJK": ("Words of their own under `handle_chinese_chars`.", as_ranges(cjk)),
        "PUNCTUATION": ("Words of their own always.", as_ranges(punctuation)),
        "KERNEL_BOUNDARIES": (
            "Words of their own to tensorflow-text's FastWordpiece kernel.",
            as_ranges(kernel_boundaries()),
        ),
        "LATE_LOWERCASE": (
            "Lower cases newer than the oldest supported Python's tables.",
            late_pairs,
        ),
    }


def main():
    if sys.version_info[:2] != (3, 11):
        raise SystemExit("run under Python 3.11, the oldest supported Unicode tables")
    lines = [
        '"""Code points that BERT\'s text cleaning treats specially.',
        "",
        "Facts read off the reference implementation, as hexadecimal ranges; made by",
        "`tests/golden/make_unicode_tables.py`",
        f"(tokenizers {tokenizers.__version__}, "
        f"tensorflow-text {tf_text.__version__}).",
        '"""',
    ]
    for name, (meaning, ranges) in collect().items():
        body = textwrap.indent(textwrap.fill(ranges, 74), "    ")
        lines += ["", f"# {meaning}", f'{name} = """', body, '"""']
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()

"""Writes keras_bert_lite/text/unicode/graphemes.py from the reference tokenizer.

Asks Hugging Face's `tokenizers` how it joins code points to grapheme clusters
and what its NFKD decomposes, and writes the facts down as ranges. The
`Precompiled` normalizer shows the clusters: it replaces a short cluster as a
whole. Run it from the repository root when the library changes:

    python -m tests.golden.make_grapheme_tables
"""

import textwrap
import unicodedata
from pathlib import Path

import tokenizers
from sentencepiece import sentencepiece_model_pb2
from tokenizers.normalizers import NFKD, Precompiled, StripAccents

from tests.golden.make_sentence_piece_golden import train
from tests.golden.make_unicode_tables import CODE_POINTS, as_ranges

TARGET = Path("keras_bert_lite/text/unicode/graphemes.py")


def folding_normalizer():
    """Case folding and NFKC, by grapheme clusters."""
    model = train(normalization_rule_name="nmt_nfkc_cf")
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    return Precompiled(proto.normalizer_spec.precompiled_charsmap).normalize_str


def collect():
    run = folding_normalizer()
    # A cluster whose first character changes loses the rest of it.
    extends = [c for c in CODE_POINTS if c and run(f"A{chr(c)}") == "a"]
    # A cluster that begins with an unchanged character is left to its parts.
    prepends = [
        c
        for c in CODE_POINTS
        if c > 0x7F and run(f"{chr(c)}e\u0301").endswith("\u0301")
    ]
    pictographs = [
        c for c in CODE_POINTS if run(f"{chr(c)}\u200d\u2122\u0301").endswith("\u0301")
    ]
    nfkd, strip = NFKD().normalize_str, StripAccents().normalize_str
    decomposed = [c for c in CODE_POINTS if nfkd(chr(c)) != chr(c)]
    for c in decomposed:
        if nfkd(chr(c)) != unicodedata.normalize("NFKD", chr(c)):
            raise SystemExit(f"U+{c:04X}: NFKD of this Python is not the reference's")
    marks = [c for c in CODE_POINTS if not strip(chr(c))]
    # Deleted by the charsmap itself, whatever stands before them.
    deleted = {c for c in extends if run(chr(c)) == ""}
    return {
        "EXTENDS": ("Joined to the character before.", set(extends) - deleted),
        "PREPENDS": ("Joined to the character behind.", prepends),
        "PICTOGRAPHS": ("Joined to one another by U+200D.", pictographs),
        "DECOMPOSED": ("Changed by NFKD.", decomposed),
        "MARKS": ("Removed by `StripAccents`.", marks),
    }


def main():
    lines = [
        '"""Grapheme clusters, NFKD and marks as the reference has them.',
        "",
        "Facts read off the reference implementation, as hexadecimal ranges; made by",
        "`tests/golden/make_grapheme_tables.py` "
        f"(tokenizers {tokenizers.__version__}).",
        '"""',
    ]
    for name, (meaning, code_points) in collect().items():
        body = textwrap.indent(
            textwrap.fill(as_ranges(code_points), 74, break_on_hyphens=False), "    "
        )
        lines += ["", f"# {meaning}", f'{name} = """', body, '"""']
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()

"""Writes text/unicode/character_classes.py from the reference tokenizer.

Asks Hugging Face's `tokenizers` which Unicode code points its patterns take
for letters, numbers and white space, and writes them down as ranges. Run it
from the repository root when the library changes:

    python -m tests.golden.make_character_classes
"""

import textwrap
from pathlib import Path

import tokenizers
from tokenizers import Regex
from tokenizers.normalizers import Replace

from tests.golden.make_unicode_tables import CODE_POINTS, as_ranges

TARGET = Path("keras_bert_lite/text/unicode/character_classes.py")
CLASSES = {
    "LETTERS": ("Letters, `\\p{L}`.", r"\p{L}"),
    "NUMBERS": ("Numbers, `\\p{N}`.", r"\p{N}"),
    "SPACES": ("White space, `\\s`.", r"\s"),
}


def matched(pattern):
    remove = Replace(Regex(pattern), "").normalize_str
    return [c for c in CODE_POINTS if not remove(chr(c))]


def main():
    lines = [
        '"""Code points that byte-level BPE\'s word pattern tells apart.',
        "",
        "Facts read off the reference implementation, as hexadecimal ranges; made by",
        f"`tests/golden/make_character_classes.py` (tokenizers "
        f"{tokenizers.__version__}).",
        '"""',
    ]
    for name, (meaning, pattern) in CLASSES.items():
        ranges = as_ranges(matched(pattern))
        body = textwrap.indent(textwrap.fill(ranges, 74), "    ")
        lines += ["", f"# {meaning}", f'{name} = """', body, '"""']
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()

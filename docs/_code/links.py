"""Links from the pages into the repository.

In the sources a link to another file of the repository is relative, so that it works
where the repository is read. Some of these files are pages here; the others become
downloads.
"""

import os
import re
from pathlib import PurePosixPath

LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\]\()([^)\s:#]+)(#[^)\s]*)?\)")
# Files of the repository that are pages, by what replaces their beginning.
PAGES = {
    "README.md": "docs/index.md",
    "CONTRIBUTING.md": "docs/contributing.md",
    "CHANGELOG.md": "docs/changelog.md",
    "saved_models/bert_mini_books/README.md": "docs/bert_mini_books.md",
    "tutorials/": "docs/tutorials/",
}


def moved(text: str, source: str, page: str) -> str:
    """Returns a text of one file of the repository with the links of a page.

    Args:
        text: Markdown.
        source: The file that it is from, relative to the repository.
        page: The page that shows it, relative to the repository too.
    """

    def link(found: re.Match) -> str:
        target = os.path.normpath(PurePosixPath(source).parent / found[2])
        if target == "tutorials":
            target = "docs/tutorials/index.md"
        for start, replacement in PAGES.items():
            if target.startswith(start):
                target = replacement + target.removeprefix(start)
        relative = os.path.relpath(target, PurePosixPath(page).parent)
        return f"{found[1]}{relative}{found[3] or ''})"

    return LINK.sub(link, text)

"""Links from the pages into the repository and to the API.

In the sources a link to another file of the repository is relative, so that it works
where the repository is read. Some of these files are pages here; the others become
downloads.
"""

import os
import re
from pathlib import PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode

from docs._code.names import names

LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\]\()([^)\s:#]+)(#[^)\s]*)?\)")
# Files of the repository that are pages, by what replaces their beginning.
PAGES = {
    "README.md": "docs/index.md",
    "CONTRIBUTING.md": "docs/contributing.md",
    "CHANGELOG.md": "docs/changelog.md",
    "tutorials/": "docs/tutorials/",
}
NAME = re.compile(r"(kbl(?:\.\w+)+)(?:\(.*\))?", re.DOTALL)


def moved(text: str, source: str, page: str) -> str:
    """Returns a text of one file of the repository with the links of a page.

    Args:
        text: Markdown.
        source: The file that it is from, relative to the repository.
        page: The page that shows it, relative to the repository too.
    """

    def link(found: re.Match) -> str:
        target = os.path.normpath(PurePosixPath(source).parent / found[2])
        for start, replacement in PAGES.items():
            if target.startswith(start):
                target = replacement + target.removeprefix(start)
        relative = os.path.relpath(target, PurePosixPath(page).parent)
        return f"{found[1]}{relative}{found[3] or ''})"

    return LINK.sub(link, text)


class NamesLink(SphinxTransform):
    """Makes links of `kbl.NAME` in code spans, to the name's page."""

    default_priority = 900

    def apply(self) -> None:
        public = self.env.app.config.kbl_names
        here = self.env.docname
        for node in list(self.document.findall(nodes.literal)):
            found = NAME.fullmatch(node.astext())
            page = public.get(found[1]) if found else None
            if page is None or f"api/{page}" == here or not _may_link(node):
                continue
            target = make_refnode(
                self.env.app.builder, here, f"api/{page}", "", node.deepcopy()
            )
            node.replace_self(target)


def _may_link(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.reference | nodes.title):
            return False
    return True


def setup(app: Sphinx) -> None:
    app.add_config_value("kbl_names", {x: y.path for x, y in names().items()}, "env")
    app.add_transform(NamesLink)

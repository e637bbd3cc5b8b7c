"""A Sphinx extension: code spans with public names become links to the API."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode

from docs._code.names import ALIAS, modules, names

NAME = re.compile(r"((?:kbl\.)?\w+(?:\.\w+)*)(?:\(.*\))?", re.DOTALL)


class NamesLink(SphinxTransform):
    """Makes links of public names in code spans, to the names' pages.

    `kbl.NAME` is one, and so is `layers.NAME`; NAME alone is, if only one public name
    ends so and it is no plain word.
    """

    default_priority = 900

    def apply(self) -> None:
        public = self.config.kbl_names
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
    app.add_config_value("kbl_names", _pages(), "env")
    app.add_transform(NamesLink)


def _pages() -> dict[str, str]:
    """Returns the page of each name, as it may stand in a text."""
    found = {path: path for path in modules() if path != ALIAS}
    found |= {path: name.path for path, name in names().items()}
    found |= {x.removeprefix(f"{ALIAS}."): found[x] for x in found if x.count(".") > 1}
    short: dict[str, set[str]] = {}
    for path, page in found.items():
        short.setdefault(path.rpartition(".")[2], set()).add(page)
    for name, pages in short.items():
        if len(pages) == 1 and (name != name.lower() or "_" in name):
            found[name] = pages.pop()
    return found

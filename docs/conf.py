"""Sphinx's configuration: `make docs`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs._code import (  # noqa: E402
    DOCS,
    api,
    gallery,
    links,
    mathml,
    name_links,
    pictures,
    readme,
    results,
    scaling,
    tutorials,
)

project = "keras_bert_lite"
html_title = project
extensions = ["myst_nb"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # `make tutorials` runs them
html_theme = "furo"
# The page in the frame of `guide/look_inside`.
html_extra_path = ["pictures/look_inside/attention.html"]
html_math_renderer = "mathml"  # works offline
html_copy_source = False
html_show_copyright = False
exclude_patterns = ["_code", "_build"]

# Pages that are files of the repository; others are written by hand or made.
WHOLE = {
    "index": "README.md",
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
    "bert_mini_books": "saved_models/bert_mini_books/README.md",
}


def make_pages(app) -> None:
    """Makes the pages and pictures that are not written by hand."""
    api.write(DOCS / "api")
    tutorials.write(DOCS / "tutorials")
    results.main()
    readme.main()
    scaling.main()
    pictures.main()
    gallery.main()


def site_links(app, docname: str, source: list[str]) -> None:
    """Puts a file of the repository before a page; links lead to pages."""
    page = f"docs/{docname}.md"
    if Path(app.env.doc2path(docname)).suffix == ".md":
        source[0] = links.moved(source[0], page, page)
    if docname in WHOLE:
        text = (ROOT / WHOLE[docname]).read_text(encoding="utf-8")
        source[0] = f"{links.moved(text, WHOLE[docname], page)}\n\n{source[0]}"
        app.env.note_dependency(str(ROOT / WHOLE[docname]), docname=docname)


def setup(app) -> None:
    mathml.setup(app)
    name_links.setup(app)
    app.connect("builder-inited", make_pages)
    app.connect("source-read", site_links)

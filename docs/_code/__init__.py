"""What makes pages and pictures, for `conf.py` and for the tests.

| file | makes |
|---|---|
| `names.py`, `docstrings.py`, `api.py` | `api/`: a page a name in any `__all__` |
| `results.py` | `results/`: a page a file of `benchmarks/results` |
| `tutorials.py` | `tutorials/`: notebooks, with the outputs of `make tutorials` |
| `badges.py` | the "Open in Colab" badges, in the notebooks themselves |
| `drawing.py`, `pictures.py` | `pictures/`: the drawings |
| `gallery.py` | `pictures/look_inside/`: what the page `guide/look_inside.md` draws |
| `mathml.py` | formulas, drawn by the browser |
| `links.py`, `name_links.py` | links from pages into the repository, and to the API |
"""

from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent

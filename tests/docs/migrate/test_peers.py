"""The code of the pages about other libraries, beside them.

`make migrations` runs that about ZeroModels, `make parity` that about
sentence-transformers.
"""

import pytest

from tests.docs.run_page import run
from tests.paths import ROOT

PAGES = ROOT / "docs" / "migrate"
PEERS = [
    "zeromodels",
    pytest.param("sentence_transformers", marks=pytest.mark.parity),
]


@pytest.mark.filterwarnings("ignore")  # of what the libraries import
@pytest.mark.parametrize("peer", PEERS)
def test_page(peer, tmp_path, monkeypatch):
    """The other environments only show these blocks, so they are `py` there."""
    pytest.importorskip(peer, reason="another environment has it")
    page = tmp_path / f"{peer}.md"
    text = (PAGES / page.name).read_text(encoding="utf-8")
    page.write_text(text.replace("```py\n", "```python\n"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run(page)

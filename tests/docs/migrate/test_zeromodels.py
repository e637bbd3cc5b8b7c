"""The code of the page about ZeroModels, beside ZeroModels: `make migrations`."""

import pytest

pytest.importorskip("zeromodels", reason="runs in `make migrations`")

from tests.docs.run_page import run
from tests.paths import ROOT

PAGE = ROOT / "docs" / "migrate" / "zeromodels.md"


def test_page(tmp_path, monkeypatch):
    """The other environments only show these blocks, so they are `py` there."""
    text = PAGE.read_text(encoding="utf-8")
    page = tmp_path / PAGE.name
    page.write_text(text.replace("```py\n", "```python\n"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run(page)

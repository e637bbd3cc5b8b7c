"""The Python of the documents runs and prints what they say.

That of the README is run by `make dist`, with the package that users install.
"""

import re

import keras
import pytest

from tests.docs.run_page import blocks, run
from tests.paths import ROOT

MADE = ("api", "tutorials")  # by `make docs`: their examples are tested elsewhere
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md"] + [
    x for x in sorted(DOCS.rglob("*.md")) if x.relative_to(DOCS).parts[0] not in MADE
]
TEXTS = {str(x.relative_to(ROOT)): x.read_text(encoding="utf-8") for x in PAGES}
RUN = [x for x in TEXTS if x != "README.md" and any(blocks(TEXTS[x]))]
LINK = re.compile(r"\]\(([^)\s:#]+)(?:#[^)\s]*)?\)")


@pytest.mark.tensorflow(reason="pages are about the TensorFlow backend")
@pytest.mark.parametrize("name", RUN)
def test_page(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keras.utils.clear_session()  # names of layers begin anew, as in a fresh process
    run(ROOT / name)


@pytest.mark.parametrize("name", TEXTS)
def test_links(name):
    """Relative links lead to files; pages that `make docs` makes are not linked."""
    folder = (ROOT / name).parent
    targets = LINK.findall(TEXTS[name])
    assert [x for x in targets if not (folder / x).exists()] == []


@pytest.mark.parametrize("name", TEXTS)
def test_fences_say_what_they_are(name):
    """Code is `python` if it is run; `py` comes after words on why it is not run."""
    lines = TEXTS[name].split("\n")
    fences = [i for i, x in enumerate(lines) if x.startswith("```")]
    for begin in fences[::2]:
        kind = lines[begin][3:]
        assert kind, f"{name}, line {begin + 1}: a fence without a language"
        if kind == "py":
            before = " ".join(lines[:begin])
            assert "not run" in before, f"{name}, line {begin + 1}: no reason"

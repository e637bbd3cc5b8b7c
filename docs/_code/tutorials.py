"""The notebooks, with the outputs of `make tutorials` where there are any."""

import json
import shutil
from pathlib import Path

from docs._code import ROOT

SOURCES = ROOT / "tutorials"
EXECUTED = ROOT / "build" / "tutorials"


def write(folder: Path) -> None:
    """Copies the notebooks; what was executed before it was changed is not shown."""
    folder.mkdir(exist_ok=True)
    found = {x.name: x for x in sorted(SOURCES.glob("*.ipynb"))}
    for old in folder.glob("*.ipynb"):
        if old.name not in found:
            old.unlink()
    for name, source in found.items():
        executed = EXECUTED / name
        chosen = executed if executed.exists() and _same(executed, source) else source
        copy = folder / name
        if not copy.exists() or copy.read_bytes() != chosen.read_bytes():
            shutil.copyfile(chosen, copy)


def _same(first: Path, second: Path) -> bool:
    """Whether two notebooks have the same cells, whatever their outputs."""
    return _cells(first) == _cells(second)


def _cells(path: Path) -> list[tuple[str, str]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(x["cell_type"], "".join(x["source"])) for x in cells]

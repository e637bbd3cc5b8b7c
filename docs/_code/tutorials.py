"""The notebooks, with the outputs of `make tutorials` where there are any."""

import json
import re
from pathlib import Path
from typing import Any

from docs._code import ROOT
from docs._code.api import replace

SOURCES = ROOT / "tutorials"
EXECUTED = ROOT / "build" / "tutorials"
# What a terminal overwrites (progress bars), and TensorFlow's logs.
OVERWRITTEN = re.compile(r"[^\n]*\r|\x08|^INFO:tensorflow:.*\n", re.MULTILINE)


def write(folder: Path) -> None:
    """Writes the notebooks; outputs of one that was changed later are not shown."""
    folder.mkdir(exist_ok=True)
    found = {x.name: x for x in sorted(SOURCES.glob("*.ipynb"))}
    for old in folder.glob("*.ipynb"):
        if old.name not in found:
            old.unlink()
    for name, path in found.items():
        notebook = _read(path)
        executed = EXECUTED / name
        if executed.exists() and _cells(_read(executed)) == _cells(notebook):
            notebook = _read(executed)
        for cell in notebook["cells"]:
            if "outputs" in cell:
                cell["outputs"] = _readable(cell["outputs"])
        replace(folder / name, json.dumps(notebook, ensure_ascii=False, indent=1))


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _cells(notebook: dict[str, Any]) -> list[tuple[str, str]]:
    return [(x["cell_type"], "".join(x["source"])) for x in notebook["cells"]]


def _readable(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the outputs, what was printed in a row as one, as a terminal shows it."""
    found: list[dict[str, Any]] = []
    for output in outputs:
        if output["output_type"] != "stream":
            found.append(output)
        elif output["name"] == "stdout":
            text = "".join(output["text"])
            if found and found[-1]["output_type"] == "stream":
                found[-1]["text"] += text
            else:
                found.append({**output, "text": text})
    for output in found:
        if output["output_type"] == "stream":
            output["text"] = OVERWRITTEN.sub("", output["text"])
    return [x for x in found if x.get("text", " ")]

"""Runs the Python of a page, and checks what it says it prints.

    python tests/docs/run_page.py README.md

A fence of `python` is run, after those before it and with their names; a fence of
`text` right behind it is what it prints. A fence of `py` is only shown. This file
imports nothing of the tests, since the installed package is tried with it too.
"""

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n*```text\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)


def blocks(page: str) -> Iterator[tuple[int, str, str | None]]:
    """Yields the line, the code and the printed text, if given, of each block."""
    for found in BLOCK.finditer(page):
        yield page.count("\n", 0, found.start()) + 2, found["code"], found["output"]


def run(path: Path) -> None:
    """Runs a page in the working folder.

    Raises:
        AssertionError: If a block prints something else than the page says.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for line, code, expected in blocks(path.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # Tracebacks have the lines of the page.
            exec(compile("\n" * (line - 1) + code, str(path), "exec"), names)
        if expected is not None:
            message = f"{path}, line {line}, printed:\n{printed.getvalue()}"
            assert printed.getvalue() == expected, message


if __name__ == "__main__":
    run(Path(sys.argv[1]))
    print(f"{sys.argv[1]} prints what it says")

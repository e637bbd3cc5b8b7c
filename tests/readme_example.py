"""Runs the first Python block of a README, and checks what it says it prints."""

import contextlib
import io
import re
import sys
from pathlib import Path


def example(readme: str) -> tuple[str, str]:
    """Returns the code and the printed output that follows it."""
    blocks = re.search(r"```python\n(.*?)```\n+```\n(.*?)```", readme, re.DOTALL)
    assert blocks, "no Python block followed by its output"
    return blocks.group(1), blocks.group(2)


def main() -> None:
    code, expected = example(Path(sys.argv[1]).read_text(encoding="utf-8"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == expected, printed.getvalue()
    print("the README's example prints what it says")


if __name__ == "__main__":
    main()

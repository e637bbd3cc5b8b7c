"""Docstrings, whose text is Markdown, as pages: sections become headings."""

import inspect
import re
import textwrap
from collections.abc import Iterator

SECTIONS = {
    "Args": "Arguments",
    "Attributes": "Attributes",
    "Call arguments": "Call arguments",
    "Example": "Example",
    "Input shape": "Input shape",
    "Output shape": "Output shape",
    "Raises": "Raises",
    "Reference": "Reference",
    "Returns": "Returns",
    "Warns": "Warns",
    "Yields": "Yields",
}
HEAD = re.compile(rf"({'|'.join(SECTIONS)}):(?: (.*))?")
ITEM = re.compile(r"([*`]*\w[\w.*`]*(?:, [*`]*\w[\w.*`]*)*): (.*)")


def markdown(docstring: str, level: int = 2) -> str:
    """Returns a page's text: sections under headings, examples in fences.

    Args:
        docstring: In the form of this package: text, then sections whose body is
            indented, or which are examples.
        level: The level of the headings.
    """
    parts = []
    for title, body in _sections(inspect.cleandoc(docstring).split("\n")):
        text = textwrap.dedent("\n".join(body)).strip("\n")
        if title is not None:
            parts.append(f"{'#' * level} {title}")
        if title == "Example" and ">>>" not in text:  # a call of the command
            parts.append(f"```sh\n{text}\n```")
        elif text:
            parts.append(_fenced(_items(text) if title in _LISTS else text))
    return "\n\n".join(parts)


_LISTS = ("Arguments", "Attributes", "Call arguments", "Raises", "Warns")


def _sections(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    """Yields titles and lines; what follows an indented section has the title Notes."""
    title: str | None = None
    body: list[str] = []
    fence = False
    for line in lines:
        fence ^= line.startswith("```")
        head = None if fence else HEAD.fullmatch(line)
        indented = not line.strip() or line.startswith(" ")
        if head:
            yield title, body
            title = SECTIONS[head[1]]
            body = [head[2]] if head[2] else []
        elif title in (None, "Example", "Reference", "Notes") or indented:
            body.append(line)
        else:
            yield title, body
            title, body = "Notes", [line]
    yield title, body


def _items(text: str) -> str:
    """Returns a definition list of `name: text`."""
    lines = []
    for line in text.split("\n"):
        if item := ITEM.fullmatch(line):
            name = item[1] if "`" in item[1] else f"`{item[1]}`"
            lines += ["", name, f": {item[2]}"]
        else:
            lines.append(f"  {line.removeprefix('    ')}" if line else "")
    return "\n".join(lines).strip("\n")


def _fenced(text: str) -> str:
    """Returns the text with doctests in fences."""

    def fence(found: re.Match) -> str:
        return f"```pycon\n{found[0].rstrip()}\n```"

    return re.sub(r"^>>> (?:.+\n?)+", fence, text, flags=re.MULTILINE)

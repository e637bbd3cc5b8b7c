"""The "Open in Colab" badges of the tutorials: `python -m docs._code.badges`.

`REPOSITORY` says where the notebooks lie. After a change of it, run this: it puts a
badge behind the title of each notebook and of its paired script, or takes it away.
"""

import json
from pathlib import Path

from docs._code import ROOT

REPOSITORY = ""  # on GitHub, such as "owner/keras_bert_lite"; without one, no badges
BRANCH = "main"

IMAGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
COLAB = "https://colab.research.google.com/github"
MARKDOWN = "# %% [markdown]\n"


def with_badge(cell: str, name: str, repository: str) -> str:
    """Returns a notebook's first cell with its badge, or without one.

    Args:
        cell: Markdown: a title, perhaps a badge, then text.
        name: The name of the notebook's file.
        repository: See `REPOSITORY`.
    """
    title, *rest = cell.split("\n\n")
    rest = [x for x in rest if not x.startswith(IMAGE)]
    link = f"{COLAB}/{repository}/blob/{BRANCH}/tutorials/{name}"
    return "\n\n".join([title, *([f"{IMAGE}({link})"] if repository else []), *rest])


def notebook(text: str, name: str, repository: str) -> str:
    """Returns the text of a notebook's file with its badge, or without one."""
    content = json.loads(text)
    first = content["cells"][0]
    cell = with_badge("".join(first["source"]), name, repository)
    first["source"] = cell.splitlines(keepends=True)
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def script(text: str, name: str, repository: str) -> str:
    """Returns the text of a notebook's script with its badge, or without one."""
    header, _, rest = text.partition(MARKDOWN)
    comment, end, rest = rest.partition("\n\n")
    cell = "\n".join(x.removeprefix("#").removeprefix(" ") for x in comment.split("\n"))
    lines = with_badge(cell, name, repository).split("\n")
    comment = "\n".join(f"# {line}".rstrip() for line in lines)
    return f"{header}{MARKDOWN}{comment}{end}{rest}"


def written(folder: Path, repository: str) -> dict[Path, str]:
    """Returns the texts of all notebooks and scripts of a folder, by their paths."""
    texts = {}
    for path in sorted(folder.glob("*.ipynb")):
        for change, file in ((notebook, path), (script, path.with_suffix(".py"))):
            text = file.read_text(encoding="utf-8")
            texts[file] = change(text, path.name, repository)
    return texts


def main() -> None:
    for path, text in written(ROOT / "tutorials", REPOSITORY).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

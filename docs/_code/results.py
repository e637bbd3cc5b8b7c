"""The pages of results, made from the files in `benchmarks/results`.

    python -m docs._code.results

A benchmark that has a function for its tables is shown by it; of another one, the
records are listed as they are.
"""

import ast
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docs._code import DOCS, ROOT, forms
from docs._code.api import replace

RESULTS = ROOT / "benchmarks" / "results"
FOLDER = DOCS / "results"
# The benchmarks' own functions: of whole pages, and of tables.
PAGES = {
    "finetuning": ("finetuning.report", "markdown"),
    "inference": ("inference.report", "markdown"),
    "recipes": ("recipes.tables", "page"),
}
TABLES = {
    "ablation": ("ablation", "markdown"),
    "answer_selection": ("answer_selection", "markdown"),
    "architectures": ("architectures", "markdown"),
    "cached_negatives": ("cached_negatives", "markdown"),
    "compute_types": ("compute_types", "markdown"),
    "encoders": ("encoders", "markdown"),
    "first_answer": ("first_answer", "markdown"),
    "forms_on_cores": ("forms_on_cores", "markdown"),
    "hybrid_weight": ("hybrid_weight", "markdown"),
    "int8_accuracy": ("int8_accuracy", "markdown"),
    "long_rows": ("long_rows.report", "markdown"),
    "gpu": ("gpu.__main__", "summary"),
    "pretraining_data": ("pretraining_data.__main__", "summary"),
    "pretraining_speed": ("pretraining_speed", "summary"),
    "recipe_choices": ("recipe_choices", "markdown"),
    "search": ("search", "markdown"),
    "search_speed": ("search_speed", "markdown"),
    "sentence_training": ("sentence_training", "markdown"),
    "squad2": ("squad2", "markdown"),
    "tpu": ("tpu.report", "summary"),
    "warm_start": ("warm_start", "markdown"),
}
Data = Any  # what a JSON file holds, or the records of a file of JSON lines


def main() -> None:
    """Writes the pages, and no others remain."""
    made = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        replace(FOLDER / name, text)


def pages() -> dict[str, str]:
    """Returns the text of every page by the name of its file."""
    files = sorted(x for x in RESULTS.rglob("*.json*") if x.suffix in SUFFIXES)
    made = {_name(path): _page(path) for path in files}
    made["forms.md"] = forms.page(read(FORMS["engines"]), read(FORMS["cores"]))
    return {**made, "index.md": _index(made)}


SUFFIXES = (".json", ".jsonl")
FORMS = {
    "engines": RESULTS / "inference.json",
    "cores": RESULTS / "forms_on_cores.json",
}


def _name(path: Path) -> str:
    return "_".join(path.relative_to(RESULTS).with_suffix(".md").parts)


def _index(made: dict[str, str]) -> str:
    titles = {name: text.split("\n")[0].lstrip("# ") for name, text in made.items()}
    lines = [f"- [{title}]({name})" for name, title in titles.items()]
    return "\n".join(
        [
            "# Results",
            "",
            "Each page is made from the file of its benchmark in `benchmarks/results`, "
            "which the command on the page wrote. Numbers of commands that leave no "
            "file stand in the [guide](../guide/speed.md).",
            "",
            *lines,
            "",
            "```{toctree}",
            ":hidden:",
            ":glob:",
            "",
            "*",
            "```",
            "",
        ]
    )


def _page(path: Path) -> str:
    data = read(path)
    stem = path.stem
    source = f"[{path.name}](../../{path.relative_to(ROOT).as_posix()})"
    if stem in PAGES:
        parts = [_function(*PAGES[stem])(data).rstrip()]
    else:
        title, about = _docstring(stem)
        parts = [f"# {title}", about, _environment(data), _tables(stem, data)]
    if path.parent != RESULTS:
        title, *rest = parts[0].split("\n", 1)
        parts[0] = "\n".join([f"{title} ({path.parent.name.replace('_', ' ')})", *rest])
    picture = path.with_suffix(".png")
    if picture.exists():
        target = f"../../{picture.relative_to(ROOT).as_posix()}"
        parts.append(f"![The same numbers, drawn]({target})")
    parts.append(f"All values: {source}.")
    return "\n\n".join(x for x in parts if x) + "\n"


def read(path: Path) -> Data:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def _docstring(stem: str) -> tuple[str, str]:
    """Returns the title and the text of the docstring of a benchmark."""
    folder = ROOT / "benchmarks"
    for path in (folder / f"{stem}.py", folder / stem / "__init__.py"):
        if path.exists():
            doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or stem
            title, _, about = doc.partition("\n\n")
            return title.replace("\n", " ").rstrip("."), about
    return stem.replace("_", " ").capitalize(), ""


def _environment(data: Data) -> str:
    """Returns what a run was made on, as the record has it."""
    if not isinstance(data, dict) or "environment" not in data:
        return ""
    about = data["environment"]
    packages = ", ".join(f"{k} {v}" for k, v in about["packages"].items() if v)
    commit = f", commit {about['commit']}" if about["commit"] else ""
    return (
        f"{about['processor']}, {about['cores']} cores, {about['date']}{commit}; "
        f"Python {about['python']}, {packages}."
    )


def _tables(stem: str, data: Data) -> str:
    if stem not in TABLES:
        return OWN.get(stem, _listed)(data)
    text = _function(*TABLES[stem])(GIVEN.get(stem, lambda x: x)(data))
    return "\n\n".join(x for x in text.split("\n\n") if x.count("\n") > 1)


def _function(module: str, name: str) -> Callable[[Data], str]:
    return getattr(importlib.import_module(f"benchmarks.{module}"), name)


def _newest(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the records of the last weights that each source had."""
    last = {x["source"]: x.get("checkpoint") for x in records}
    return [x for x in records if x.get("checkpoint") == last[x["source"]]]


def _objectives(data: Data) -> str:
    """Returns the last value of each metric of each objective."""
    runs = data["runs"]
    rows = [
        [
            name,
            *(f"{run[name][-1]:,.4g}" if name in run else "" for run in runs.values()),
        ]
        for name in dict.fromkeys(name for run in runs.values() for name in run)
    ]
    head = f"After {data['steps']} steps of {data['batch_size']} rows:"
    return f"{head}\n\n{_table(['', *runs], rows)}"


def _serving_load(data: Data) -> str:
    sides = [_flat(side) for side in data["sides"]]
    rows = [[name, *(_cell(side[name]) for side in sides)] for name in sides[0]]
    for name in ("seconds", "tolerance", "median_ratio"):
        if name in data:
            rows.append([name, _cell(data[name])] + [""] * (len(sides) - 1))
    return _table(["", *(f"export {i + 1}" for i in range(len(sides)))], rows)


# Tables that benchmarks do not write, and what is given to those that they do.
OWN = {"objectives": _objectives, "serving_load": _serving_load}
GIVEN = {
    "encoders": _newest,
    "gpu": lambda x: x["runs"],
    "pretraining_speed": lambda x: x["runs"],
}


def _listed(data: Data) -> str:
    """Returns the records as they are, or what a dictionary holds, a line each."""
    if isinstance(data, list):
        records = [_flat(x) for x in data]
        head = list(dict.fromkeys(name for x in records for name in x))
        return _table(head, [[_cell(x.get(name)) for name in head] for x in records])
    found = {k: v for k, v in data.items() if k != "environment"}
    tables = {k: v for k, v in found.items() if isinstance(v, list) and _records(v)}
    values = _flat({k: v for k, v in found.items() if k not in tables})
    parts = [_table(["", ""], [[k, _cell(v)] for k, v in values.items()])]
    parts += [f"## {name}\n\n{_listed(records)}" for name, records in tables.items()]
    return "\n\n".join(parts[0 if values else 1 :])


def _records(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(x, dict) for x in values)


def _flat(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name} ")
        else:
            found[f"{prefix}{name}"] = value
    return found


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.5g}"
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    return str(value).replace("|", "\\|")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()

"""The files of a run: the model in two forms, the report and the model card."""

import html
import re
import shutil
from pathlib import Path
from typing import Any

from keras_bert_lite._files import to_json, write_text
from keras_bert_lite._version import __version__
from keras_bert_lite.finetuning.kinds import KINDS
from keras_bert_lite.serving.saved_model.export import export_saved_model
from keras_bert_lite.tasks.text_model import MODEL_FILE, TextModel

SAVED_MODEL = "saved_model"
MARKUP = re.compile(r"[\\`*_\[\]|~$#!]")  # besides that of HTML
REPORT, CARD, MISTAKES = "report.json", "README.md", "mistakes.md"


def save_run(model: TextModel, report: dict[str, Any], folder: Path) -> None:
    """Writes the model and what is known about it; the report is the last file."""
    if (folder / SAVED_MODEL).exists():  # of a run that was killed while it was saved
        shutil.rmtree(folder / SAVED_MODEL)
    model.save(folder / MODEL_FILE)
    export_saved_model(model, folder / SAVED_MODEL)
    write_text(folder / CARD, card(report))
    write_text(folder / MISTAKES, mistakes_page(report))
    write_text(folder / REPORT, to_json(report, indent=1, ensure_ascii=False))


def card(report: dict[str, Any]) -> str:
    """Returns the model card, in Markdown."""
    rows, recipe, lengths = (report[x] for x in ("rows", "recipe", "lengths"))
    encoder = str(report["encoder"])
    final = ", which the final weights were trained on too" * report["refitted"]
    parts = [
        f"# {report['task'].replace('_', ' ').capitalize()}, from {_escape(encoder)}",
        "",
        "Takes strings; made by `keras_bert_lite.finetune` "
        f"(version {__version__}). `model.keras` is for Keras, `saved_model` for "
        "TensorFlow Serving, `report.json` has all numbers.",
        "",
        "## Data",
        "",
        f"{rows['train']} rows to train on, {rows['validation']} held out{final}. Half "
        f"of the rows have up to {lengths['median']} tokens, the longest "
        f"{lengths['highest']}; a row of the model has {lengths['limit']}, which "
        f"{lengths['cut']} rows exceed.",
        "",
        *_labels(report),
        "## Recipe",
        "",
        *(
            f"- {name.replace('_', ' ')}: {_escape(_plain(x))}"
            for name, x in recipe.items()
        ),
        *_decisions(report),
        "",
        "## Scores on the held-out rows",
        "",
        *scores_table(report),
    ]
    return "\n".join(parts) + "\n"


def mistakes_page(report: dict[str, Any]) -> str:
    """Returns the labels and rows that the model gets wrong, in Markdown.

    They are not in the card, which may be published and the rows may not.
    """
    parts = ["# What the model gets wrong, in the held-out rows", ""]
    if report["confused"]:
        parts += ["| right | answer | times |", "| --- | --- | --- |"]
        parts += [_line(x, "expected", "answer", "count") for x in report["confused"]]
    parts += ["", "| row | right | answer |", "| --- | --- | --- |"]
    parts += [_line(x, "text", "expected", "answer") for x in report["worst"]]
    return "\n".join(parts) + "\n"


def _line(values: dict[str, Any], *names: str) -> str:
    """Returns a line of a table."""
    return f"| {' | '.join(_cell(str(values[name])) for name in names)} |"


def scores_table(report: dict[str, Any]) -> list[str]:
    """Returns the scores of the model and of the simple models, in Markdown.

    Shares are in percent.
    """
    columns = list(report["scores"])
    lines = {"this model": report["scores"], **report.get("baselines", {})}
    table = [["", *columns], ["---"] * (len(columns) + 1)]
    amounts = KINDS[report["task"]].amounts
    table += [
        [name, *(_score(x[c], c in amounts) if c in x else "" for c in columns)]
        for name, x in lines.items()
    ]
    return [f"| {' | '.join(line)} |" for line in table]


def _score(value: float, amount: bool) -> str:
    return f"{value:.3g}" if amount else f"{100 * value:.1f}"


def beaten_by(report: dict[str, Any]) -> dict[str, float]:
    """Returns the simple models with a better score, and their scores."""
    metric = report["metric"]
    own = report["scores"][metric]
    found = report.get("baselines", {}).items()
    return {name: x[metric] for name, x in found if x.get(metric, own) > own}


def _plain(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _labels(report: dict[str, Any]) -> list[str]:
    return [
        f"{name.capitalize()}: {', '.join(map(_escape, values))}\n"
        for name, values in report["labels"].items()
    ]


def _decisions(report: dict[str, Any]) -> list[str]:
    lines = [
        f"- temperature of `{name}`: {x['temperature']:.2f} (expected calibration "
        f"error {100 * x['before']:.1f} % before, {100 * x['after']:.1f} % after)"
        for name, x in report["calibration"].items()
    ]
    lines += [
        f"- {name.replace('_', ' ')}: {value:.2f}"
        for name, value in report["options"].items()
    ]
    if report["contrasted"]:
        lines.append("- the encoder first learned which texts have the same label")
    if weights := report["class_weight"]:
        named = zip(report["labels"]["labels"], weights, strict=True)
        shown = ", ".join(f"{_escape(label)} {weight:.2f}" for label, weight in named)
        lines.append(f"- weights of the labels: {shown}")
    return [*lines, f"- the score that decides: {report['metric']}"]


def _cell(text: str, most: int = 120) -> str:
    return _escape(text if len(text) <= most else f"{text[:most]} …")


def _escape(text: str) -> str:
    """Returns Markdown that shows a text as it is, on one line."""
    shown = html.escape(" ".join(text.split()), quote=False)
    return MARKUP.sub(r"\\\g<0>", shown)

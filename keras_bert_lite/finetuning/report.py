"""What a run reports, and its files: models, report and model card."""

import dataclasses
import html
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bert_lite._files import to_json, write_text
from keras_bert_lite._version import __version__
from keras_bert_lite.finetuning.calibration import Calibration
from keras_bert_lite.finetuning.lengths import Lengths
from keras_bert_lite.finetuning.plan import Plan
from keras_bert_lite.finetuning.spec import TUNABLE
from keras_bert_lite.serving.saved_model.export import export_saved_model
from keras_bert_lite.tasks.text_model import MODEL_FILE, TextModel
from keras_bert_lite.training.data.row_formats import Columns, Labels
from keras_bert_lite.training.linear_model import Probe
from keras_bert_lite.training.scores.intervals import Interval
from keras_bert_lite.training.scores.scorer import Scores

SAVED_MODEL = "saved_model"
MARKUP = re.compile(r"[\\`*_\[\]|~$#!]")  # besides that of HTML
REPORT, CARD, MISTAKES = "report.json", "README.md", "mistakes.md"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
    """How a model was trained.

    Args:
        recipe: What training did.
        baselines: The scores of simple models on the held-out rows, by name.
        warm_start: What each output's head started from: the inverse strength of the
            penalty, and the loss of the linear model.
        history: The scores of each evaluation on the held-out rows; the first is that
            of the start.
        best: The evaluation whose weights were kept; 0 is the start,
            such as a linear model.
        diverged: Why training diverged; empty if it did not.
        refitted: Whether the model was then trained once more, on all rows.
    """

    recipe: Plan
    baselines: Mapping[str, Scores]
    warm_start: Mapping[str, Probe]
    history: list[dict[str, Any]]
    best: int
    diverged: str
    refitted: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judgement:
    """How a model answers the held-out rows, before it is trained on them too.

    Args:
        calibration: The temperature of each output, and the expected calibration
            errors before and after it.
        options: The thresholds that were chosen, options of `with_text`.
        scores: The scores, by name.
        intervals: The 95 % confidence interval of each score.
        confused: The labels that are mistaken most often: `expected`, `answer` and
            `count`.
        worst: The rows that the model gets most wrong: `text`, `expected`, `answer`
            and `loss`.
    """

    calibration: Mapping[str, Calibration]
    options: dict[str, Any]
    scores: Scores
    intervals: Mapping[str, Interval]
    confused: list[dict[str, Any]]
    worst: list[dict[str, Any]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report(Training, Judgement):
    """What `finetune` did; `report.json` holds the same.

    Args:
        task, encoder: What was asked for.
        columns: The columns of the data, by the task's names.
        labels: The labels, by the builder's argument.
        rows: The number of rows to train on (`train`) and held out (`validation`).
        lengths: The lengths of rows, in tokens.
        metric: The score that decided.
        class_weight: The weight of each label in training, if any.
        apart: Whether the texts of a row are encoded apart.
        minutes: How long everything took but for saving.
    """

    task: str
    encoder: str
    columns: Columns
    labels: Labels
    rows: dict[str, int]
    lengths: Lengths
    metric: str
    class_weight: list[float] | None
    apart: bool
    minutes: float

    def as_dict(self) -> dict[str, Any]:
        """Returns what `report.json` holds."""
        warm_start = {name: x._asdict() for name, x in self.warm_start.items()}
        return {**dataclasses.asdict(self), "warm_start": warm_start}

    def beaten_by(self) -> dict[str, float]:
        """Returns the simple models with a better score, and their scores."""
        metric = self.metric
        own, others = self.scores[metric], self.baselines.items()
        return {name: x[metric] for name, x in others if x.get(metric, own) > own}


def save_run(model: TextModel, report: Report, folder: Path) -> None:
    """Writes the model and what is known about it; the report is the last file."""
    if (folder / SAVED_MODEL).exists():  # of a run that was killed while it was saved
        shutil.rmtree(folder / SAVED_MODEL)
    model.save(folder / MODEL_FILE)
    export_saved_model(model, folder / SAVED_MODEL)
    write_text(folder / CARD, card(report))
    write_text(folder / MISTAKES, mistakes_page(report))
    write_text(folder / REPORT, to_json(report.as_dict(), indent=1, ensure_ascii=False))


def card(report: Report) -> str:
    """Returns the model card, in Markdown."""
    rows, lengths = report.rows, report.lengths
    recipe = dataclasses.asdict(report.recipe)
    final = ", which the final weights were trained on too" * report.refitted
    parts = [
        f"# {_spaced(report.task).capitalize()}, from {_escape(report.encoder)}",
        "",
        "Takes strings; made by `keras_bert_lite.finetune` "
        f"(version {__version__}). `model.keras` is for Keras, `saved_model` for "
        "TensorFlow Serving, `report.json` has all numbers.",
        "",
        "## Data",
        "",
        f"{rows['train']} rows to train on, {rows['validation']} held out{final}. Half "
        f"of the rows have up to {lengths.median} tokens, the longest "
        f"{lengths.highest}; a row of the model has {lengths.limit}, which "
        f"{lengths.cut} rows exceed.",
        "",
        *_labels(report),
        "## Recipe",
        "",
        *(f"- {_spaced(name)}: {_escape(_plain(x))}" for name, x in recipe.items()),
        *_decisions(report),
        "",
        "## Scores on the held-out rows",
        "",
        *scores_table(report),
    ]
    return "\n".join(parts) + "\n"


def mistakes_page(report: Report) -> str:
    """Returns the labels and rows that the model gets wrong, in Markdown.

    They are not in the card, which may be published and the rows may not.
    """
    parts = ["# What the model gets wrong, in the held-out rows", ""]
    if report.confused:
        parts += ["| right | answer | times |", "| --- | --- | --- |"]
        parts += [_line(x, "expected", "answer", "count") for x in report.confused]
    parts += ["", "| row | right | answer |", "| --- | --- | --- |"]
    parts += [_line(x, "text", "expected", "answer") for x in report.worst]
    return "\n".join(parts) + "\n"


def _line(values: dict[str, Any], *names: str) -> str:
    """Returns a line of a table."""
    return f"| {' | '.join(_cell(str(values[name])) for name in names)} |"


def scores_table(report: Report) -> list[str]:
    """Returns the scores of the model and of the simple models, in Markdown.

    Shares are in percent.
    """
    columns = list(report.scores)
    lines = {"this model": report.scores, **report.baselines}
    table = [["", *columns], ["---"] * (len(columns) + 1)]
    amounts = TUNABLE[report.task].scorer.amounts
    ends = [(*report.intervals[x], x in amounts) for x in columns]
    spans = [f"{_score(low, unit)} to {_score(high, unit)}" for low, high, unit in ends]
    table += [
        [name, *(_score(x[c], c in amounts) if c in x else "" for c in columns)]
        for name, x in lines.items()
    ]
    table.insert(3, ["95 % interval", *spans])
    return [f"| {' | '.join(line)} |" for line in table]


def _score(value: float, amount: bool) -> str:
    return f"{value:.3g}" if amount else f"{100 * value:.1f}"


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _plain(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _labels(report: Report) -> list[str]:
    return [
        f"{name.capitalize()}: {', '.join(map(_escape, values))}\n"
        for name, values in report.labels.items()
    ]


def _decisions(report: Report) -> list[str]:
    lines = [
        f"- temperature of `{name}`: {x.temperature:.2f} (expected calibration "
        f"error {100 * x.before:.1f} % before, {100 * x.after:.1f} % after)"
        for name, x in report.calibration.items()
    ]
    lines += [
        f"- {_spaced(name)}: {value:.2f}" for name, value in report.options.items()
    ]
    if weights := report.class_weight:
        named = zip(report.labels["labels"], weights, strict=True)
        shown = ", ".join(f"{_escape(label)} {weight:.2f}" for label, weight in named)
        lines.append(f"- weights of the labels: {shown}")
    return [*lines, f"- the score that decides: {report.metric}"]


def _cell(text: str, most: int = 120) -> str:
    return _escape(text if len(text) <= most else f"{text[:most]} …")


def _escape(text: str) -> str:
    """Returns Markdown that shows a text as it is, on one line."""
    shown = html.escape(" ".join(text.split()), quote=False)
    return MARKUP.sub(r"\\\g<0>", shown)

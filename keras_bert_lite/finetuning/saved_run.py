"""A finished run, or another model that takes strings, read for use."""

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path

import keras

from keras_bert_lite.finetuning.report import REPORT
from keras_bert_lite.finetuning.spec import (
    Spec,
    labels_of,
    named_columns,
    scorable_task,
)
from keras_bert_lite.tasks.text_model import TextModel, load_text_model, model_on_ids
from keras_bert_lite.tasks.text_parts import answer_of, preprocessor_of
from keras_bert_lite.training.data.row_formats import Columns


@dataclasses.dataclass(frozen=True)
class SavedRun:
    """A model that takes strings and the columns it was trained on.

    Args:
        model: The model.
        columns: The columns of its data by argument, if they are known.
    """

    model: TextModel
    columns: Columns

    def spec(self, columns: Mapping[str, str | None] | None = None) -> Spec:
        """Returns its task and labels, with other columns where given.

        Raises:
            ValueError: If models of its task cannot be scored.
        """
        task = scorable_task(self.model)
        own = self.columns
        if task.fine_tuning and task.fine_tuning.rows.separate:
            # Other rows than those of the run may have what is optional.
            own = {name: x for name, x in own.items() if x is not None}
        named = named_columns(task, {**own, **(columns or {})})
        if task.columns.get("text_pair", "") is None:
            paired = "text_pair" in self.model.input
            named.setdefault("text_pair", "text_pair" if paired else None)
        return Spec(task, named, labels_of(model_on_ids(self.model), task))

    def scored_model(self, spec: Spec) -> TextModel:
        """Returns the model whose answers are scored: that of words, where they are."""
        answer = answer_of(self.model)
        options = {
            name: value
            for name in spec.fine_tuning.kept_options
            if (value := getattr(answer, name, None)) is not None
        }
        body = model_on_ids(self.model)
        return spec.scored_model(body, preprocessor_of(self.model), **options)


def load_run(source: TextModel | str | os.PathLike, argument: str = "run") -> SavedRun:
    """Loads the model of a run.

    Args:
        source: The directory of a finished `finetune`, a `.keras` file, or a model
            that takes strings.
        argument: Its name in error messages.

    Raises:
        FileNotFoundError: If there is no such file.
        NotFinite: If a weight of the model is NaN or infinite.
        ValueError: If the run's report is damaged.
        TypeError: If it is not a model made by `with_text`.
    """
    columns: Columns = {}
    if not isinstance(source, keras.Model):
        report = Path(source) / REPORT
        if report.is_file():
            columns = _columns(report)
    return SavedRun(load_text_model(source, argument), columns)


def _columns(path: Path) -> Columns:
    """Returns the columns in a report.

    Raises:
        ValueError: If it is damaged.
    """
    try:
        columns = json.loads(path.read_text(encoding="utf-8"))["columns"]
        if not isinstance(columns, dict):
            raise TypeError(f"columns={columns!r:.80}")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}: must be the report of a run, JSON with `columns`; delete it to "
            f"use the model without. Received: {type(error).__name__}: {error}"
        ) from error
    return columns

"""A finished run, or another model that takes strings, read for use."""

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite.finetuning.kinds import KINDS, Kind
from keras_bert_lite.finetuning.report import MODEL, REPORT
from keras_bert_lite.models.tasks.registry import task_of
from keras_bert_lite.models.text_model import TextModel


@dataclasses.dataclass(frozen=True)
class SavedRun:
    """A model that takes strings and the columns it was trained on.

    Args:
        model: The model.
        columns: The columns of its data by argument, if they are known.
    """

    model: TextModel
    columns: dict[str, Any]

    def kind(self, columns: Mapping[str, str] | None = None) -> Kind:
        """Returns the kind of its task, with other columns where given.

        Raises:
            ValueError: If the task has no kind.
        """
        task = task_of(self.model)
        if task is None or task.name not in KINDS:
            raise ValueError(
                f"`model` must be of one of the tasks {list(KINDS)}. "
                f"Received: {task and task.name!r}"
            )
        return KINDS[task.name](**{**self.columns, **(columns or {})})


def load_run(source: TextModel | str | os.PathLike, argument: str = "run") -> SavedRun:
    """Loads the model of a run.

    Args:
        source: The directory of a finished `finetune`, a `.keras` file, or a model
            that takes strings.
        argument: Its name in error messages.

    Raises:
        FileNotFoundError: If there is no such file, or the run is not finished.
        TypeError: If it is not a model made by `with_text`.
    """
    if isinstance(source, TextModel):
        return SavedRun(source, {})
    if isinstance(source, keras.Model):
        raise TypeError(
            f"`{argument}` must take strings: use `with_text(model, preprocessor)`. "
            f"Received: {source.name!r}, which takes ids"
        )
    path, columns = Path(source), {}
    if path.is_dir():
        report = path / REPORT
        if not report.is_file():
            raise FileNotFoundError(
                f"`{argument}` must be a directory with a {REPORT}, which `finetune` "
                f"writes in the end. Received: {str(path)!r}"
            )
        columns = json.loads(report.read_text(encoding="utf-8"))["columns"]
        path = path / MODEL
    if not path.is_file():
        raise FileNotFoundError(
            f"`{argument}` must be the directory of a run or a .keras file. "
            f"Received: {str(source)!r}"
        )
    model = keras.models.load_model(path)
    if not isinstance(model, TextModel):
        raise TypeError(
            f"`{argument}` must hold a model that takes strings, made by `with_text`. "
            f"Received: {model.name!r}"
        )
    return SavedRun(model, columns)

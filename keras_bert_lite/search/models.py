"""The models of an index: an encoder and a ranker that take strings."""

from __future__ import annotations

import os
from pathlib import Path

from keras_bert_lite.checkpoints.load import load_model, load_preprocessor
from keras_bert_lite.tasks.ranking import RANKING
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.sentence_embedding import SENTENCE_EMBEDDING
from keras_bert_lite.tasks.task import Task, options_of
from keras_bert_lite.tasks.text_model import (
    MODEL_FILE,
    TextModel,
    load_text_model,
    with_text,
)
from keras_bert_lite.text.inputs import PROMPT

Source = TextModel | str | os.PathLike


def text_encoder(source: Source) -> TextModel:
    """Returns a sentence encoder that takes strings, or loads it.

    Raises:
        ValueError: If it is another model.
    """
    return _text_model(source, "encoder", SENTENCE_EMBEDDING)


def text_ranker(source: Source) -> TextModel:
    """Returns a ranker that takes strings, or loads it.

    Raises:
        ValueError: If it is another model.
    """
    return _text_model(source, "ranker", RANKING)


def _text_model(source: Source, argument: str, task: Task) -> TextModel:
    if isinstance(source, TextModel) or _is_run(source):
        model = load_text_model(source, argument)
    else:
        body, preprocessor = load_model(source), load_preprocessor(source)
        named = preprocessor.prompts and not options_of(body).get("prompt_length")
        takes = named and PROMPT in task.input_options
        model = with_text(body, preprocessor, **({PROMPT: True} if takes else {}))
    found = task_of(model)
    if found is not task:
        received = f"one of {found.name!r}" if found else "one without a task"
        raise ValueError(
            f"`{argument}` must be a model of the task {task.name!r}. "
            f"Received: {received}"
        )
    return model


def _is_run(source: str | os.PathLike) -> bool:
    path = Path(source)
    return path.suffix == Path(MODEL_FILE).suffix or (path / MODEL_FILE).is_file()

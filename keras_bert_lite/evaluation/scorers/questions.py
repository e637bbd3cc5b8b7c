"""Scorer for extractive question answering."""

import functools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import keras
import numpy as np

from keras_bert_lite.evaluation.callback import Score
from keras_bert_lite.tasks.text_model import TextModel, with_text
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.scores.squad import squad_scores


def squad(
    data: Iterable[Mapping[str, Any]],
    preprocessor: Preprocessor | None = None,
    batch_size: int = 32,
    **options: Any,
) -> Score:
    """Exact match and F1 of the answers to questions; see `squad_scores`.

    Args:
        data: Records of `id`, `question`, `context` and `answers`, as from
            `read_squad`. They are kept in memory.
        preprocessor: Converts strings to the model's inputs; `None` if the model
            takes strings.
        batch_size: Questions per batch.
        **options: Options of `with_text`, for a model on ids. If the data have
            questions without an answer, `no_answer_threshold` is 0 by default.

    Returns:
        A function that returns the scores of `squad_scores`. If there are questions
        without an answer, they include the best values of `no_answer_threshold`, unless
        it is best never to answer: that threshold is minus infinity, which
        `EvaluationCallback` does not log.

    Raises:
        ValueError: When called, if the model does not take strings and there is no
            preprocessor.
    """
    records = list(data)
    unanswerable = any(not record["answers"]["text"] for record in records)
    if unanswerable:
        options = {"no_answer_threshold": 0.0, **options}

    @functools.lru_cache(maxsize=1)
    def string_model(model: keras.Model) -> keras.Model:
        if isinstance(model, TextModel):
            return model
        if preprocessor is None:
            raise ValueError(
                "`preprocessor` must be given if the model does not take strings. "
                "Received: None"
            )
        return with_text(model, preprocessor, **options)

    def score(model: keras.Model) -> dict[str, float]:
        texts = {
            "text": [record["question"] for record in records],
            "text_pair": [record["context"] for record in records],
        }
        outputs = string_model(model).predict(texts, batch_size, verbose=0)
        report = squad_scores(records, _by_id(records, outputs["answer"]))
        if unanswerable:
            best = squad_scores(
                records,
                _by_id(records, outputs["answers"][:, 0]),
                _by_id(records, outputs["no_answer_score"]),
            )
            report |= {
                name: x
                for name, x in best.items()
                if name.startswith("best_") and math.isfinite(x)
            }
        return report

    return score


def _by_id(records: list[Mapping[str, Any]], values: np.ndarray) -> dict[str, Any]:
    return {x["id"]: v for x, v in zip(records, values.tolist(), strict=True)}

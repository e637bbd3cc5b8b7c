"""Ranking: which of several candidates fit a query best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import keras
import numpy as np
from keras import ops

from keras_bert_lite import layers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice
from keras_bert_lite.tasks import baselines
from keras_bert_lite.tasks.sequence_head import (
    default_pooling,
    grouped_inputs,
    head_arguments,
    sequence_vector,
)
from keras_bert_lite.tasks.string_form import (
    Answer,
    Options,
    Tensors,
    check_windows,
    string_inputs,
)
from keras_bert_lite.tasks.task import (
    FineTuning,
    Output,
    Task,
    options_of,
    task_model,
)
from keras_bert_lite.tasks.text_parts import answers_to
from keras_bert_lite.text.inputs import CANDIDATES, TEXT
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training import objectives
from keras_bert_lite.training.bm25 import BM25
from keras_bert_lite.training.data import ranking_dataset, row_formats
from keras_bert_lite.training.scores.ranking import RankingScorer

ACTIVATIONS = (None, "sigmoid")
PADDING = -float("inf")  # the score of what only fills up a list
RERANKED = 20  # texts of a search that are put in order
AT_ONCE = 64  # texts that are read at once


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class WithoutPadding(keras.layers.Layer):
    """Gives the score -inf to what only fills up a list of candidates.

    Call arguments:
        scores: Scores `(B, C)`.
        real: Booleans `(B, C)`, false for padding.

    Output shape:
        That of `scores`.
    """

    def call(self, scores, real):
        return ops.where(real, scores, ops.full_like(scores, PADDING))

    def compute_output_shape(self, scores_shape, real_shape):
        return scores_shape


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class RankAnswer(Answer):
    """Puts candidates in the order of their scores.

    Args:
        activation: `"sigmoid"` scales scores to numbers from 0 to 1; `None` leaves
            them. The order is the same.

    Call arguments:
        logits: Scores `(B, C)`; -inf for what fills up a list.

    Output shape:
        A dictionary: `scores`, float32 `(B, C)`; `order`, int32 `(B, C)`, the places of
        the candidates, the best first, equal ones in the order given, padding last;
        `best`, int32 `(B,)`, the first of `order`.
    """

    absent: ClassVar[dict[str, float]] = {"scores": PADDING, "order": -1}

    def __init__(self, activation: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_choice("activation", activation, ACTIVATIONS)
        self.activation = activation

    def call(self, logits: tf.Tensor) -> dict[str, tf.Tensor]:
        scores = tf.cast(logits, tf.float32)
        count = tf.shape(scores)[1]
        order = tf.math.top_k(scores, count).indices  # equal ones by their places
        if self.activation == "sigmoid":
            scores = tf.where(scores == PADDING, PADDING, tf.sigmoid(scores))
        return {"scores": scores, "order": order, "best": order[:, 0]}

    def compute_output_spec(self, logits: Any) -> dict[str, keras.KerasTensor]:
        shape = logits.shape
        return {
            "scores": keras.KerasTensor(shape, dtype="float32"),
            "order": keras.KerasTensor(shape, dtype="int32"),
            "best": keras.KerasTensor(shape[:1], dtype="int32"),
        }

    def without_padding(self, row: dict[str, Any]) -> dict[str, Any]:
        """Returns a row's answers without what fills up the end of its list."""
        real = (row["scores"] != PADDING).nonzero()[0]
        count = real[-1] + 1 if len(real) else 0
        order = row["order"]
        order = order[(order >= 0) & (order < count)]
        return {**row, "scores": row["scores"][:count], "order": order}

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "activation": self.activation}


def _string_form(
    answer: Callable,
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    options: Options,
) -> tuple[Tensors, Tensors]:
    check_windows(preprocessor, False)
    inputs = string_inputs([TEXT, CANDIDATES], {CANDIDATES: (None,)})
    logits = model(preprocessor(inputs))["logits"]
    options = {"activation": options_of(model).get("activation"), **options}
    return inputs, answer(**options, name="answer")(logits)


def _rerank(model: Any, queries: list[str], texts: list[str]) -> list[np.ndarray]:
    """Puts the texts in order that BM25 finds."""
    found, _ = BM25(texts).rank(queries, RERANKED)
    lists = [[texts[i] for i in places] for places in found]
    lengths = [sum(map(len, x)) for x in lists]
    inputs: dict[str, list[Any]] = {TEXT: queries, CANDIDATES: lists}
    answers = answers_to(model, inputs, lengths, max(1, AT_ONCE // RERANKED))
    return [x[order] for x, order in zip(found, answers["order"], strict=True)]


RANKING = Task(
    name="ranking",
    head=layers.DenseHead,
    outputs=(Output("logits", objectives.LAMBDA),),
    data_set=ranking_dataset,
    fine_tuning=FineTuning(
        rows=row_formats.RankedCandidates(),
        build=lambda encoder, labels, apart: ranker(
            encoder, pooling="mean", head_form={}
        ),
        continues=lambda model: model,
        scorer=RankingScorer(),
        baselines={"BM25": baselines.bm25},
        untrained_baselines=True,
        search=_rerank,
        batch_size=8,  # lists, each of several texts
    ),
    string_inputs=(TEXT, CANDIDATES),
    answer=RankAnswer,
    string_form=_string_form,
    hugging_face="ForSequenceClassification",
    answers_ids=True,
)


def ranker(
    encoder: keras.Model,
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    pooling: str | None = None,
    activation: str | None = None,
    name: str = "ranker",
) -> keras.Model:
    """Builds a model that scores how well candidates fit a query (a cross-encoder).

    The query and a candidate share a row, so that each word of one attends to all of
    the other. That is more exact than comparing the vectors of a `sentence_encoder`,
    and slower: it suits the best 10 to 100 documents that a search has found.

    Args:
        encoder, dropout, head_form, name: See `text_classifier`.
        pooling: See `text_classifier`; `"late"` is not for candidates.
        activation: `"sigmoid"` if the answers' scores are to be from 0 to 1; `None`
            leaves them as they are. Training has no use for it.

    Returns:
        A functional model with the encoder's inputs for C candidates, `(B, C, S)`, and
        the output `logits`, `(B, C)`. A candidate without real tokens only fills up
        its list and scores -inf. Targets are grades `(B, C)`, from 0 for candidates
        that do not fit; see `ranking_dataset`. `compile` uses `losses.LambdaLoss`;
        `PointwiseLoss`, `RankNetLoss`, `ListNetLoss` and, with a teacher's scores,
        `MarginMSELoss` are others.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.with_text(kbl.ranker(encoder, pooling="mean"), preprocessor)
    >>> texts = {"text": ["rain"], "candidates": [["wet", "dry", "blue"]]}
    >>> sorted(model.predict(texts, verbose=0)["order"][0].tolist())
    [0, 1, 2]

    Reference: [Nogueira and Cho, 2019](https://arxiv.org/abs/1901.04085).
    """
    check_choice("activation", activation, ACTIVATIONS)
    pooling = default_pooling(encoder, head_form, pooling)
    head = layers.DenseHead(1, **head_arguments(encoder, dropout, head_form, pooling))
    inputs, rows = grouped_inputs()
    join = layers.RestoreGroups(name="join_candidates")
    scores = join(
        head(sequence_vector(encoder, rows, head, pooling)), inputs["token_ids"]
    )
    real = layers.AnyToken(name="has_tokens")(inputs["padding_mask"])
    logits = WithoutPadding(name="scores")(scores, real)
    options = {"pooling": pooling, "activation": activation}
    chosen = {key: value for key, value in options.items() if value is not None}
    return task_model(RANKING, inputs, {"logits": logits}, [head], name, **chosen)

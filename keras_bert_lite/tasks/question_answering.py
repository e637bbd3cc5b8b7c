"""Extractive question answering."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import keras

from keras_bert_lite import layers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_positive
from keras_bert_lite.models.encoder_model import id_inputs, without_pooler
from keras_bert_lite.tasks.sequence_head import token_head_arguments
from keras_bert_lite.tasks.string_form import (
    Answer,
    Options,
    Tensors,
    over_windows,
    string_inputs,
)
from keras_bert_lite.tasks.task import FineTuning, Output, Task, task_model
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training import objectives
from keras_bert_lite.training.data import question_dataset, row_formats
from keras_bert_lite.training.scores import questions as scores

LOWEST = -1e30
NO_CONTEXT = 1e4  # the no-answer score of a context without tokens


class _Spans(NamedTuple):
    """The K best spans of each row, the best first."""

    scores: tf.Tensor  # (rows, K) float32; `LOWEST` where there is no span
    firsts: tf.Tensor  # (rows, K) int64, the first token
    lasts: tf.Tensor  # (rows, K) int64, the last token

    def best(self, count: int) -> _Spans:
        scores, order = tf.nn.top_k(self.scores, count)
        parts = (tf.gather(x, order, batch_dims=1) for x in self[1:])
        return _Spans(scores, *parts)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class SpanAnswer(Answer):
    """Returns the best answer spans from start and end logits.

    A span's score is `start_logits[first] + end_logits[last]`. A span counts only
    in the window that gives its first token the most context (BERT's max-context
    rule), so overlapping windows do not yield it twice. All such spans of up to
    `max_answer_length` tokens are compared, over all windows of a context. Among
    the best `3 n_best`, only the best span of each text is kept. The score of no
    answer is the minimum of `start_logits[0] + end_logits[0]` over the windows.

    Args:
        max_answer_length: The maximum number of tokens in an answer.
        n_best: Number of answers to return.
        no_answer_threshold: Returns no answer if its score exceeds that of the
            best span by more than this number, which may be infinite. `None`
            always returns an answer.

    Call arguments:
        inputs: A dictionary of `start_logits` and `end_logits`, `(N, S)`, and
            the other outputs of `TextWindows`.

    Output shape:
        A dictionary.

        - `answer`, strings `(B,)`, `start` and `end`, int32 `(B,)`: the best
          answer and its code point offsets in the context, `end` exclusive; an
          empty string and -1 for no answer;
        - `score`, float32 `(B,)`: the answer's softmax probability among the n
          best and, with a threshold, no answer;
        - `no_answer_score`, float32 `(B,)`: the score of no answer minus that of
          the best span; 10,000 for a context without tokens;
        - `answers`, `starts`, `ends`, `scores`, `(B, n_best)`: the n best; padded
          with empty strings, -1 and 0 if there are fewer.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), sections
    4.2 and 4.3; `write_predictions` in google-research/bert, run_squad.py, which
    only considers the 20 best starts and ends.
    """

    def __init__(
        self,
        max_answer_length: int = 30,
        n_best: int = 5,
        no_answer_threshold: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive("max_answer_length", max_answer_length)
        check_positive("n_best", n_best)
        if no_answer_threshold is not None:
            _check_threshold(no_answer_threshold)
        self.max_answer_length = max_answer_length
        self.n_best = n_best
        self.no_answer_threshold = no_answer_threshold

    def without_padding(self, row: dict[str, Any]) -> dict[str, Any]:
        count = int((row["starts"] >= 0).sum())
        several = ("answers", "starts", "ends", "scores")
        return {**row, **{name: row[name][:count] for name in several}}

    def call(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        x = {
            k: tf.cast(v, tf.float32) if k.endswith("logits") else v
            for k, v in inputs.items()
        }
        rows = tf.size(x["text"], tf.int64)
        spans = self._different(self._of_contexts(self._of_windows(x), x), x)
        null = x["start_logits"][:, 0] + x["end_logits"][:, 0]
        null = tf.math.unsorted_segment_min(null, x["window_rows"], rows)
        return self._answers(spans, null, x)

    def _of_windows(self, x: dict[str, tf.Tensor]) -> _Spans:
        """Returns the best spans of each of the N windows."""
        index = tf.stack([x["windows"], x["columns"]], axis=1)
        shape = tf.shape(x["start_logits"], tf.int64)
        begins = _kept(x["start_logits"], index, x["most_context"])
        ends = _kept(x["end_logits"], index, tf.ones_like(x["most_context"]))
        token = tf.scatter_nd(index, x["tokens"], shape)
        # (N, S, D): the spans of 1 to D tokens from each position.
        length = self.max_answer_length
        ends = tf.pad(ends, [[0, 0], [0, length]], constant_values=LOWEST)
        reach = tf.range(shape[1])[:, None] + tf.range(length, dtype=tf.int64)
        scores = begins[:, :, None] + tf.gather(ends, reach, axis=1)
        flat = tf.reshape(scores, [shape[0], shape[1] * length])
        best, order = tf.nn.top_k(_at_least(flat, self._count), self._count)
        order = tf.minimum(tf.cast(order, tf.int64), shape[1] * length - 1)
        first = order // length
        last = tf.minimum(first + order % length, shape[1] - 1)
        firsts, lasts = (tf.gather(token, i, batch_dims=1) for i in (first, last))
        return _Spans(best, firsts, lasts)

    @property
    def _count(self) -> int:
        """Number of spans to consider; several may have the same text."""
        return 3 * self.n_best

    def _of_contexts(self, spans: _Spans, x: dict[str, tf.Tensor]) -> _Spans:
        """Returns the best spans of each of the B contexts."""
        rows = tf.size(x["text"], tf.int64)
        parts = [
            tf.RaggedTensor.from_value_rowids(
                part, x["window_rows"], rows, validate=False
            ).to_tensor(tf.cast(fill, part.dtype))
            for part, fill in zip(spans, (LOWEST, 0, 0), strict=True)
        ]
        flat = [
            tf.reshape(p, [rows, tf.shape(p, tf.int64)[1] * self._count]) for p in parts
        ]
        spare = [[0, 0], [0, self._count]]  # an empty batch has no windows
        return _Spans(
            tf.pad(flat[0], spare, constant_values=LOWEST),
            *(tf.pad(x, spare) for x in flat[1:]),
        ).best(self._count)

    def _different(self, spans: _Spans, x: dict[str, tf.Tensor]) -> _Spans:
        """Returns the n best spans with distinct texts."""
        texts = _texts(spans, x)[0]
        same = tf.equal(texts[:, :, None], texts[:, None, :])  # (B, K, K)
        before = tf.linalg.band_part(tf.ones([self._count] * 2), -1, 0)
        before = tf.cast(before - tf.eye(self._count), tf.bool)
        repeated = tf.reduce_any(tf.logical_and(same, before), axis=2)
        scores = tf.where(repeated, LOWEST, spans.scores)
        return spans._replace(scores=scores).best(self.n_best)

    def _answers(
        self, spans: _Spans, null: tf.Tensor, x: dict[str, tf.Tensor]
    ) -> dict[str, tf.Tensor]:
        texts, starts, ends = _texts(spans, x)
        found = spans.scores > LOWEST / 2
        difference = tf.where(found[:, 0], null - spans.scores[:, 0], NO_CONTEXT)
        allowed = self.no_answer_threshold is not None
        nothing = null if allowed else tf.fill(tf.shape(null), LOWEST)
        shares = tf.nn.softmax(tf.concat([spans.scores, nothing[:, None]], 1))
        scores = tf.where(found, shares[:, :-1], 0.0)
        silent = difference > (self.no_answer_threshold or 0.0)
        silent = tf.logical_or(~found[:, 0], tf.logical_and(allowed, silent))
        silent_score = shares[:, -1] if allowed else tf.zeros_like(null)
        return {
            "answer": tf.where(silent, "", texts[:, 0]),
            "start": tf.where(silent, -1, starts[:, 0]),
            "end": tf.where(silent, -1, ends[:, 0]),
            "score": tf.where(silent, silent_score, scores[:, 0]),
            "no_answer_score": difference,
            "answers": texts,
            "starts": starts,
            "ends": ends,
            "scores": scores,
        }

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        dtypes = {"answer": "string", "start": "int32", "end": "int32"}
        dtypes["score"] = "float32"
        (batch,) = inputs["text"].shape
        specs = {k: keras.KerasTensor((batch,), dtype=v) for k, v in dtypes.items()}
        specs["no_answer_score"] = keras.KerasTensor((batch,), dtype="float32")
        for name, dtype in dtypes.items():
            shape = (batch, self.n_best)
            specs[f"{name}s"] = keras.KerasTensor(shape, dtype=dtype)
        return specs

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "max_answer_length": self.max_answer_length,
            "n_best": self.n_best,
            "no_answer_threshold": self.no_answer_threshold,
        }


def _check_threshold(value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or value != value:
        raise ValueError(
            f"`no_answer_threshold` must be a number or None. Received: {value!r}"
        )
    if value == -math.inf:
        warnings.warn(
            "`no_answer_threshold` is minus infinity: the model will never answer. "
            "A search for the best threshold finds it where no answer is better than "
            "silence, mostly because the model was trained too little.",
            stacklevel=3,
        )


def _kept(scores: tf.Tensor, index: tf.Tensor, keep: tf.Tensor) -> tf.Tensor:
    """Returns the scores (N, S) where `keep` (M,) is true, `LOWEST` elsewhere."""
    kept = tf.scatter_nd(index, tf.cast(keep, tf.int32), tf.shape(scores, tf.int64))
    return tf.where(kept > 0, scores, LOWEST)


def _at_least(scores: tf.Tensor, count: int) -> tf.Tensor:
    """Pads with `count` columns of scores below all others."""
    return tf.pad(scores, [[0, 0], [0, count]], constant_values=2 * LOWEST)


def _texts(
    spans: _Spans, x: dict[str, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns texts, starts and ends, `(B, K)`; empty and -1 if there is no span."""
    found = spans.scores > LOWEST / 2
    # One extra token, in case the contexts have none.
    starts = tf.gather(tf.concat([x["starts"], [0]], 0), spans.firsts)
    ends = tf.gather(tf.concat([x["ends"], [0]], 0), spans.lasts)
    starts, ends = tf.where(found, starts, 0), tf.where(found, ends, 0)
    context = tf.broadcast_to(x["text"][:, None], tf.shape(starts))
    texts = tf.strings.substr(context, starts, ends - starts, unit="UTF8_CHAR")
    return texts, tf.where(found, starts, -1), tf.where(found, ends, -1)


def _string_form(
    answer: Callable,
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    options: Options,
) -> tuple[Tensors, Tensors]:
    inputs = string_inputs(["text", "text_pair"])
    values = over_windows(model, preprocessor, inputs)
    return inputs, answer(**options, name="answer")(values)


def _answerable(rows: row_formats.Rows) -> row_formats.Rows:
    """Returns the rows with an answer, if there are any.

    With as many steps on a mixture, MiniLM hardly learned to find answers.
    """
    return [row for row in rows if row["answers"]["text"]] or rows


QUESTION_ANSWERING = Task(
    name="question_answering",
    head=layers.SpanHead,
    outputs=(
        Output(
            "start_logits",
            objectives.POSITION_CROSS_ENTROPY,
            (objectives.accuracy,),
            weight=0.5,
        ),
        Output(
            "end_logits",
            objectives.POSITION_CROSS_ENTROPY,
            (objectives.accuracy,),
            weight=0.5,
        ),
    ),
    data_set=question_dataset,
    fine_tuning=FineTuning(
        rows=row_formats.Questions(),
        build=lambda encoder, labels, apart: question_answerer(encoder),
        scorer=scores.AnswerScorer(),
        kept_options=("no_answer_threshold",),
        # Many small steps: the head has to learn what no linear model of vectors holds.
        batch_size=8,
        rate=2.0,
        first=_answerable,
    ),
    explained="answer",
    answer=SpanAnswer,
    string_form=_string_form,
    windowed=True,
    hugging_face="ForQuestionAnswering",
    alternatives=True,
)


def question_answerer(
    encoder: keras.Model,
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    name: str = "question_answerer",
) -> keras.Model:
    """Builds a model that scores tokens as the start and the end of an answer.

    Args:
        encoder: An encoder. Its pooler, if any, is not used.
        dropout: Dropout rate before the last layer; by default 0, as in BERT.
        head_form: See `text_classifier`; `{}` for no hidden layer.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the outputs
        `start_logits` and `end_logits`, `(B, S)` each, -10,000 at padding.
        `kbl.compile` trains it with BERT's loss, the mean of both outputs'
        `keras.losses.SparseCategoricalCrossentropy(from_logits=True)`, on the data
        of `question_dataset`.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> sorted(kbl.question_answerer(encoder).output)
    ['end_logits', 'start_logits']

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 4.2.
    """
    head = layers.SpanHead(**token_head_arguments(encoder, dropout or 0.0, head_form))
    inputs = id_inputs()
    tokens = without_pooler(encoder)(inputs)["sequence_output"]
    outputs = head(tokens, padding_mask=inputs["padding_mask"])
    return task_model(QUESTION_ANSWERING, inputs, outputs, [head], name)

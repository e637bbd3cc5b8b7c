"""Why a model said so: integrated gradients of a prediction."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_positive
from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of
from keras_bert_lite.models.from_vectors import from_vectors
from keras_bert_lite.tasks.text_model import (
    TextModel,
    as_array,
    load_text_model,
    model_on_ids,
)
from keras_bert_lite.tasks.text_parts import answer_of, preprocessor_of
from keras_bert_lite.visualization.explanation import Explanation
from keras_bert_lite.visualization.integrated_gradients import Integral, integrate
from keras_bert_lite.visualization.reading import NO_PIECE, Reading, one_example, read
from keras_bert_lite.visualization.targets import Question, Target, choose

TOLERANCE = 0.01  # of the completeness error


def explain(
    model: TextModel | str | os.PathLike,
    text: Any,
    target: str | int | None = None,
    span: tuple[int, int] | None = None,
    *,
    steps: int = 50,
    max_steps: int = 800,
    batch_size: int = 32,
) -> Explanation:
    """Says what each piece of a text adds to a model's prediction.

    The attributions are integrated gradients of a logit (or of a number of a
    regression): with x the token embedding of a piece and b that of the padding token,
    `(x - b) . integral of d logit / d x` over the straight path from b to x, on which
    all pieces move together. Special tokens (`[CLS]`, `[SEP]`) keep their vectors, as
    do positions and segments: the baseline is a text of the same length without words.
    Attributions sum to the logit minus that of the baseline (completeness). The
    integral is Gauss-Legendre quadrature, whose points are doubled until this holds
    within 1 % of that difference; if it never does, there is a warning.

    Args:
        model: A model made by `with_text`, the directory of a run of `finetune`, or a
            `.keras` file. Its task is one of text classification (one label or
            several), regression, token classification, intents and slots, question
            answering.
        text: One example: a string; for a pair, or a question and its context, a tuple
            of two strings or a dictionary of `text` and `text_pair`; for a model with
            `split_words`, a list of words.
        target: What to explain. `None`: what the model predicts. A label, a tag, or the
            name or index of a regression's number; for question answering `"start"` or
            `"end"`, whose logits are explained, or `"span"`, their sum.
        span: Characters `(start, end)` of the text (of the context), end exclusive, as
            answers give them: the word whose tag is explained, the first if there are
            several, or the answer. `None`: the first entity of the prediction, or the
            predicted answer. If no answer is predicted, its score is explained. For
            intents and slots, `None` explains the intent.
        steps: The number of points to begin with.
        max_steps: The most points, at least `steps`.
        batch_size: How many points are computed at once, which memory grows with.

    Returns:
        An `Explanation`. Texts that are read in windows: a tag or an answer depends on
        the pieces of one window only, the others have 0.

    Raises:
        ValueError: If there is no such target or span, or the model's task cannot be
            explained.
        TypeError: If the model does not take strings, or the text is not one example.
        NotImplementedError: If the backend is not TensorFlow.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.text_classifier(encoder, labels=["bad", "good"], pooling="mean")
    >>> why = kbl.explain(kbl.with_text(model, preprocessor), "a lovely day")
    >>> [piece.token for piece in why.pieces]
    ['a', 'lovely', 'day']
    >>> bool(abs(why.attributions.sum() - (why.score - why.baseline_score)) < 0.01)
    True

    Reference: [Sundararajan et al., 2017](https://arxiv.org/abs/1703.01365). The
    values are those of captum's `LayerIntegratedGradients` on the word embeddings.
    """
    for name, value in (
        ("steps", steps),
        ("max_steps", max_steps),
        ("batch_size", batch_size),
    ):
        check_positive(name, value)
    model = load_text_model(model)
    texts = one_example(model, text)
    reading = read(model, texts)
    body = model_on_ids(model)
    outputs = body(reading.inputs, training=False)
    prediction = _prediction(model, texts)
    asked = Question(model, outputs, prediction, reading, target, span)
    chosen = choose(asked)
    reading = _only(reading, chosen.row)
    found = _integral(model, reading, chosen, steps, max(steps, max_steps), batch_size)
    if found.error > TOLERANCE:
        warnings.warn(
            f"The attributions sum to the score's difference from the baseline, "
            f"{found.score - found.baseline_score:.4g}, only within "
            f"{found.error:.1%} after {found.steps} steps. `max_steps` may be larger; "
            "if the difference is small or the model computes in half precision or "
            "int8, rounding may be the cause.",
            stacklevel=2,
        )
    attributions, seen = _by_piece(reading, found.attributions)
    return Explanation(
        texts=reading.texts,
        pieces=reading.pieces,
        attributions=attributions,
        read=seen,
        prediction=prediction,
        target=chosen.name,
        span=chosen.span,
        score=found.score,
        baseline_score=found.baseline_score,
        error=found.error,
        steps=found.steps,
    )


def _prediction(model: TextModel, texts: Mapping[str, tf.Tensor]) -> dict[str, Any]:
    """Returns the model's answer to one example."""
    answers = {name: as_array(x)[0] for name, x in model(texts).items()}
    answer = answer_of(model)
    return answers if answer is None else answer.without_padding(answers)


def _only(reading: Reading, row: int | None) -> Reading:
    """Returns a reading of one of its rows, or of all."""
    if row is None:
        return reading
    inputs = {name: x[row : row + 1] for name, x in reading.inputs.items()}
    places = reading.places[row : row + 1]
    return dataclasses.replace(reading, inputs=inputs, places=places)


def _integral(
    model: TextModel,
    reading: Reading,
    target: Target,
    steps: int,
    max_steps: int,
    batch_size: int,
) -> Integral:
    """Returns the attributions of the R rows' places, `(R, S)`."""
    body = model_on_ids(model)
    look_up = encoder_layers(encoder_of(body))[0].token_vectors
    ids = reading.inputs["token_ids"]
    ids = tf.reshape(ids, [-1, ids.shape[-1]])
    vectors = tf.cast(look_up(ids), tf.float32)  # (R, S, E)
    padding = tf.fill(ids.shape, preprocessor_of(model).tokenizer.pad_id)
    padding = tf.cast(look_up(padding), tf.float32)
    pieces = tf.reshape(reading.places != NO_PIECE, [*ids.shape, 1])
    baseline = tf.where(pieces, padding, vectors)
    again = from_vectors(body)

    def score(points: tf.Tensor) -> tf.Tensor:  # (K, R, S, E)
        count = points.shape[0]
        inputs = {name: tf.repeat(x, count, 0) for name, x in reading.inputs.items()}
        rows = tf.reshape(points, [-1, *vectors.shape[1:]])
        outputs = again([inputs, rows], training=False)
        return tf.cast(target.of(outputs), tf.float32)

    at_once = max(1, batch_size // len(ids))
    return integrate(score, vectors, baseline, steps, max_steps, TOLERANCE, at_once)


def _by_piece(reading: Reading, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the sums of the pieces' places, and which pieces have a place."""
    places = reading.places.reshape(-1)
    here = places != NO_PIECE
    count = len(reading.pieces)
    sums = np.bincount(places[here], values.reshape(-1)[here], count)
    return sums, np.isin(np.arange(count), places)

"""Classification and regression of texts and text pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_between
from keras_bert_lite.layers.heads.dense_heads import check_labels
from keras_bert_lite.tasks import baselines
from keras_bert_lite.tasks.sequence_head import (
    default_pooling,
    head_arguments,
    with_head,
)
from keras_bert_lite.tasks.string_form import (
    Answer,
    Options,
    Tensors,
    about_text,
    about_texts_apart,
)
from keras_bert_lite.tasks.task import (
    FineTuning,
    Output,
    Task,
    labels_of,
    options_of,
)
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training import label_shares as shares, objectives
from keras_bert_lite.training.data import row_formats, text_dataset
from keras_bert_lite.training.scores import texts as scores


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class LabelAnswer(Answer):
    """Returns the most probable label.

    Args:
        labels: The names of the labels, in the order of the logits.

    Call arguments:
        inputs: Logits of shape `(B, len(labels))`.

    Output shape:
        A dictionary: `label`, strings of shape `(B,)`; `scores`, the softmax
        of the logits, float32 of shape `(B, len(labels))`.

    Raises:
        ValueError: If there are more or fewer labels than logits.
    """

    def __init__(self, labels: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.labels = check_labels(labels, at_least=1)

    def call(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        self.check_labels_fit(self.labels, inputs)
        logits = tf.cast(inputs, tf.float32)
        names = tf.gather(tf.constant(self.labels), tf.argmax(logits, axis=-1))
        return {"label": names, "scores": tf.nn.softmax(logits)}

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        self.check_labels_fit(self.labels, inputs)
        return {
            "label": keras.KerasTensor(inputs.shape[:-1], dtype="string"),
            "scores": keras.KerasTensor(inputs.shape, dtype="float32"),
        }

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "labels": list(self.labels)}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class LabelSetAnswer(Answer):
    """Returns the labels whose probability exceeds a threshold.

    Args:
        labels: The names of the labels, in the order of the logits.
        threshold: A number between 0 and 1, exclusive.

    Call arguments:
        inputs: Logits of shape `(B, L)`.

    Output shape:
        A dictionary of two `(B, L)` tensors, in the order of the argument
        `labels`: `labels`, strings, empty for labels not above the threshold;
        `scores`, float32, the sigmoid of the logits.

    Raises:
        ValueError: If the threshold is not between 0 and 1, exclusive, or there are
            more or fewer labels than logits.
    """

    def __init__(
        self, labels: Sequence[str], threshold: float = 0.5, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        check_between("threshold", threshold, 0, 1)
        self.labels = check_labels(labels, at_least=1)
        self.threshold = threshold

    def without_padding(self, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "labels": row["labels"][row["labels"] != ""]}

    def call(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        self.check_labels_fit(self.labels, inputs)
        scores = tf.sigmoid(tf.cast(inputs, tf.float32))
        names = tf.constant(self.labels)
        return {
            "labels": tf.where(scores > self.threshold, names, ""),
            "scores": scores,
        }

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        self.check_labels_fit(self.labels, inputs)
        return {
            "labels": keras.KerasTensor(inputs.shape, dtype="string"),
            "scores": keras.KerasTensor(inputs.shape, dtype="float32"),
        }

    def get_config(self) -> dict[str, Any]:
        config = {"labels": list(self.labels), "threshold": self.threshold}
        return {**super().get_config(), **config}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class NumberAnswer(Answer):
    """Returns the values of a regression; a single unit loses its axis.

    Call arguments:
        inputs: Values of shape `(B, units)`.

    Output shape:
        A dictionary of float32: `score`, `(B,)`, for a single unit; `scores`,
        `(B, units)`, for several.
    """

    def call(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        values = tf.cast(inputs, tf.float32)
        one = values.shape[-1] == 1
        return {"score": values[:, 0]} if one else {"scores": values}

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        batch, units = inputs.shape
        if units == 1:
            return {"score": keras.KerasTensor((batch,), dtype="float32")}
        return {"scores": keras.KerasTensor((batch, units), dtype="float32")}


def _string_form(
    answer: Callable,
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    options: Options,
) -> tuple[Tensors, Tensors]:
    """Applies the answer to a text's or a pair's `logits`."""
    labels = labels_of(model)
    given = {} if labels is None else {"labels": labels}
    chosen = options_of(model)
    if "compare" in chosen:
        inputs, values = about_texts_apart(model, preprocessor)
    else:
        inputs, values = about_text(model, preprocessor, pairs, "windows" in chosen)
    return inputs, answer(**given, **options, name="answer")(values["logits"])


def _data_options(pairs: bool, apart: bool) -> dict[str, Any]:
    if apart:
        return {"text": ["text", "text_pair"]}
    return {"text_pair": "text_pair"} if pairs else {}


def _form(apart: bool) -> dict[str, Any]:
    """Returns arguments of builders: a head that a linear model can fill."""
    return {"pooling": "mean", "head_form": {}, "compare": apart}


TEXT_CLASSIFICATION = Task(
    name="text_classification",
    head=layers.ClassificationHead,
    outputs=(Output("logits", objectives.CROSS_ENTROPY, (objectives.accuracy,)),),
    data_set=text_dataset,
    fine_tuning=FineTuning(
        rows=row_formats.LabelledTexts(),
        build=lambda encoder, labels, apart: text_classifier(
            encoder, **labels, **_form(apart)
        ),
        scorer=scores.LabelScorer(),
        baselines={
            "most common label": baselines.most_common_label,
            "TF-IDF, logistic regression": baselines.linear_label,
        },
        data_options=_data_options,
        softened=True,
    ),
    explained="label",
    answer=LabelAnswer,
    string_form=_string_form,
    hugging_face="ForSequenceClassification",
    alternatives=True,
    answers_ids=True,
    classifies=True,
)
MULTI_LABEL_CLASSIFICATION = Task(
    name="multi_label_classification",
    head=layers.ClassificationHead,
    outputs=(
        Output("logits", objectives.BINARY_CROSS_ENTROPY, (objectives.multi_label_f1,)),
    ),
    data_set=text_dataset,
    fine_tuning=FineTuning(
        rows=row_formats.MultiLabelTexts(),
        build=lambda encoder, labels, apart: multi_label_classifier(
            encoder, **labels, **_form(apart)
        ),
        scorer=scores.MultiLabelScorer(),
        baselines={
            "most common label": baselines.most_common_labels,
            "TF-IDF, logistic regression": baselines.linear_labels,
        },
        data_options=lambda pairs, apart: {
            **_data_options(pairs, apart),
            "multi_label": True,
        },
        kept_options=("threshold",),
        epochs=2,  # many labels are rare
        rate=2.0,  # see `benchmarks.recipe_choices`
        softened=True,
    ),
    explained="label",
    answer=LabelSetAnswer,
    string_form=_string_form,
    hugging_face="ForSequenceClassification",
    answers_ids=True,
)
REGRESSION = Task(
    name="regression",
    head=layers.RegressionHead,
    outputs=(Output("logits", objectives.SQUARED_ERROR, (objectives.number_scores,)),),
    data_set=text_dataset,
    fine_tuning=FineTuning(
        rows=row_formats.NumberedTexts(),
        build=lambda encoder, labels, apart: regressor(encoder, **_form(apart)),
        scorer=scores.NumberScorer(),
        baselines={"TF-IDF, ridge regression": baselines.linear_number},
        data_options=_data_options,
        softened=True,
    ),
    explained="number",
    answer=NumberAnswer,
    string_form=_string_form,
    hugging_face="ForSequenceClassification",
    answers_ids=True,
)


def text_classifier(
    encoder: keras.Model,
    labels: Sequence[str],
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    pooling: str | None = None,
    windows: str | None = None,
    compare: bool = False,
    label_shares: Sequence[float] | None = None,
    name: str = "text_classifier",
) -> keras.Model:
    """Builds a text classifier: encoder, dropout and one logit per label.

    BERT and ALBERT classify the `pooled_output`; the other families apply a
    hidden layer to the first token's vector.

    Args:
        encoder: An encoder.
        labels: The names of the labels; a target is an index into them.
        dropout: Dropout rate before the last layer; `None` means the encoder's.
        head_form: The hidden layer of the head: `hidden_activation`,
            `hidden_dropout` and `hidden_bias` of `layers.DenseHead`, and with
            `"hidden_norm": True` a normalization like the encoder's. By default that
            of the encoder's family; `{}` classifies the `pooled_output`.
        pooling: How to pool the tokens for the head; see `layers.Pooler`.
            `None` means the family's way, or `"mean"` if that needs a
            `pooled_output` and the encoder has none. `"late"` scores every token and
            gives the mean of the logits (EuroBERT).
        windows: For texts longer than the encoder takes: `"mean"` or `"max"`
            pools the vectors of a text's windows for the head. The inputs are
            then `(B, W, S)`, as a `Preprocessor` with a `stride` makes them.
        compare: Whether the two texts of a pair are encoded apart. The head then
            receives `u, v, |u - v|, u v` of their unit vectors, and the inputs are
            `(B, 2, S)`, as `text_dataset(text=["text", "text_pair"])` makes them.
            This suits encoders that were trained to compare sentences.
        label_shares: How often each label occurs, from 0 to 1, in their order. The
            model then starts with a bias that predicts this, and need not learn it.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output `logits`,
        `(B, len(labels))`. `kbl.compile` trains it with
        `keras.losses.SparseCategoricalCrossentropy(from_logits=True)`. Like all
        models on ids, it takes what a `Preprocessor` makes of texts, and arrays of
        indices; data sets take names of labels, and the model of `with_text` strings.

    Raises:
        ValueError: If the labels are not at least two unique names, or
            `label_shares` are not a share for each.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.text_classifier(encoder, labels=["bad", "good"])
    >>> model.output["logits"].shape
    (None, 2)

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 4.1.
    """
    pooling = default_pooling(encoder, head_form, pooling)
    arguments = head_arguments(encoder, dropout, head_form, pooling)
    head = layers.ClassificationHead(check_labels(labels), **arguments)
    model = with_head(
        TEXT_CLASSIFICATION, encoder, head, pooling, windows, compare, name
    )
    shares.start_from(head, label_shares, shares.logs)
    return model


def multi_label_classifier(
    encoder: keras.Model,
    labels: Sequence[str],
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    pooling: str | None = None,
    windows: str | None = None,
    compare: bool = False,
    label_shares: Sequence[float] | None = None,
    name: str = "multi_label_classifier",
) -> keras.Model:
    """Builds a classifier whose texts may have any number of labels.

    Args:
        encoder, labels, dropout, head_form, pooling, windows, compare, name: See
            `text_classifier`; a target is a row of 0s and 1s, one per label.
        label_shares: The share of rows that have each label, from 0 to 1. With many
            labels, most of them rare, the first hundreds of steps would otherwise
            only learn that; `targets.mean(axis=0)` are the shares.

    Returns:
        A model like that of `text_classifier`. `kbl.compile` trains it with
        `keras.losses.BinaryCrossentropy(from_logits=True)`.

    Raises:
        ValueError: If the labels are not unique names, or `label_shares` are not a
            share for each.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.multi_label_classifier(encoder, ["joy", "anger", "fear"])
    >>> model.output["logits"].shape
    (None, 3)
    """
    pooling = default_pooling(encoder, head_form, pooling)
    arguments = head_arguments(encoder, dropout, head_form, pooling)
    head = layers.ClassificationHead(labels, **arguments)
    model = with_head(
        MULTI_LABEL_CLASSIFICATION, encoder, head, pooling, windows, compare, name
    )
    shares.start_from(head, label_shares, shares.log_odds)
    return model


def regressor(
    encoder: keras.Model,
    num_outputs: int = 1,
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    names: Sequence[str] | None = None,
    pooling: str | None = None,
    windows: str | None = None,
    compare: bool = False,
    name: str = "regressor",
) -> keras.Model:
    """Builds a regression model for texts or text pairs.

    Args:
        encoder, dropout, head_form, pooling, windows, compare, name: See
            `text_classifier`.
        num_outputs: Number of values per text.
        names: The names of the values, for documentation only.

    Returns:
        A functional model with the encoder's inputs and the output `logits`,
        `(B, num_outputs)`. `kbl.compile` trains it with
        `keras.losses.MeanSquaredError()`.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> kbl.regressor(encoder).output["logits"].shape
    (None, 1)
    """
    pooling = default_pooling(encoder, head_form, pooling)
    arguments = head_arguments(encoder, dropout, head_form, pooling)
    head = layers.RegressionHead(num_outputs, names, **arguments)
    return with_head(REGRESSION, encoder, head, pooling, windows, compare, name)

"""Classification of texts and of pairs of texts."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.sequence_head import head_arguments, with_head


def text_classifier(
    encoder: keras.Model,
    labels: Sequence[str],
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    pooling: str | None = None,
    windows: str | None = None,
    name: str = "text_classifier",
) -> keras.Model:
    """Builds a classifier: the encoder, dropout, one logit for each label.

    BERT and ALBERT classify the `pooled_output`; the other families have a
    hidden layer on the first token's vector.

    Args:
        encoder: An encoder.
        labels: The names of the labels; a target is an index into them.
        dropout: Rate before the last layer; `None` means the encoder's.
        head_form: `hidden_activation` and `hidden_dropout` of the
            `layers.DenseHead`; by default those of the encoder's family. `{}`
            classifies the `pooled_output`.
        pooling: What the head reads: `"cls"`, the first token's vector; the
            `"mean"` or `"max"` of all tokens'; `"attention"`, a learned weighted
            sum. `None`: as the family has it.
        windows: For texts longer than the encoder takes: the head reads the
            `"mean"` or the `"max"` of the vectors of a text's windows. The
            inputs then are `(B, W, S)`, as a `Preprocessor` with a `stride`
            makes them.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output `logits`,
        `(B, len(labels))`. Train it with
        `keras.losses.SparseCategoricalCrossentropy(from_logits=True)`.

    Raises:
        ValueError: If the encoder has no `pooled_output` and the head needs
            one, or the labels are not different names.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 4.1.
    """
    arguments = head_arguments(encoder, dropout, head_form, pooling)
    head = layers.ClassificationHead(labels, **arguments)
    return with_head(encoder, head, pooling, windows, name)


def multi_label_classifier(
    encoder: keras.Model,
    labels: Sequence[str],
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    pooling: str | None = None,
    windows: str | None = None,
    name: str = "multi_label_classifier",
) -> keras.Model:
    """Builds a classifier of which any number of labels may be true.

    Args:
        encoder, labels, dropout, head_form, pooling, windows, name: See
            `text_classifier`; a target is a row of 0 and 1, one for each label.

    Returns:
        As `text_classifier`. Train it with
        `keras.losses.BinaryCrossentropy(from_logits=True)`.
    """
    arguments = head_arguments(encoder, dropout, head_form, pooling)
    head = layers.ClassificationHead(labels, multi_label=True, **arguments)
    return with_head(encoder, head, pooling, windows, name)


def regressor(
    encoder: keras.Model,
    num_outputs: int = 1,
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    names: Sequence[str] | None = None,
    pooling: str | None = None,
    windows: str | None = None,
    name: str = "regressor",
) -> keras.Model:
    """Builds a model that gives a text, or a pair, a number.

    Args:
        encoder, dropout, head_form, pooling, windows, name: See
            `text_classifier`.
        num_outputs: How many numbers.
        names: What they are called, for those who read the model.

    Returns:
        A functional model with the encoder's inputs and the output `logits`,
        `(B, num_outputs)`. Train it with `keras.losses.MeanSquaredError()`.
    """
    arguments = head_arguments(encoder, dropout, head_form, pooling)
    head = layers.RegressionHead(num_outputs, names, **arguments)
    return with_head(encoder, head, pooling, windows, name)

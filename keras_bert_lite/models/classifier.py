"""Classification of texts and of pairs of texts."""

from collections.abc import Sequence

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import config_of, id_inputs


def text_classifier(
    encoder: keras.Model,
    labels: Sequence[str],
    dropout: float | None = None,
    name: str = "text_classifier",
) -> keras.Model:
    """Builds a classifier: the encoder, dropout, one logit for each label.

    Args:
        encoder: An encoder with `pooled_output`.
        labels: The names of the labels; a target is an index into them.
        dropout: Rate before the last layer; `None` means the encoder's.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output `logits`,
        `(B, len(labels))`. Train it with
        `keras.losses.SparseCategoricalCrossentropy(from_logits=True)`.

    Raises:
        ValueError: If the encoder has no `pooled_output`, or the labels are
            not different names.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 4.1.
    """
    config = config_of(encoder)
    if config.pooling is None:
        raise ValueError(
            "`encoder` must have a `pooled_output`; this one has only "
            f"{sorted(encoder.output)}. Load it with `pooling=...` to add one."
        )
    head = layers.ClassificationHead(
        labels,
        dropout=config.dropout if dropout is None else dropout,
        initializer_range=config.initializer_range,
        name="head",
    )
    inputs = id_inputs()
    pooled = encoder(inputs)["pooled_output"]
    return keras.Model(inputs, {"logits": head(pooled)}, name=name)

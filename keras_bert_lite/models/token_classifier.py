"""Classification of tokens: names, parts of speech, chunks."""

from collections.abc import Sequence

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import config_of, id_inputs, without_pooler


def token_classifier(
    encoder: keras.Model,
    labels: Sequence[str],
    dropout: float | None = None,
    crf: bool = False,
    constrained: bool = False,
    name: str = "token_classifier",
) -> keras.Model:
    """Builds a model that labels every token.

    Args:
        encoder: An encoder. The model leaves out its pooler, if it has one.
        labels: The names of the labels; a target is an index into them.
        dropout: Rate before the last layer; `None` means the encoder's.
        crf: Whether to put a conditional random field behind the logits, which
            scores whole sequences of labels.
        constrained: Whether the field forbids what the labels' scheme does
            (`O` to `I-PER`); see `layers.CRF`.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output `logits`,
        `(B, S, len(labels))`. Train it with
        `keras.losses.SparseCategoricalCrossentropy(from_logits=True,
        reduction="mean_with_sample_weight")` and weights of 0 at all pieces but
        the first of each word, as `token_dataset` makes them. With `crf` the
        output is `crf_scores`, and the loss `training.losses.CRFLoss()`.

    Raises:
        ValueError: If `constrained` without `crf`.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 5.3;
    [Lample et al., 2016](https://arxiv.org/abs/1603.01360) for the field.
    """
    if constrained and not crf:
        raise ValueError(
            '`constrained` needs `crf=True`; `with_text(..., decoding="constrained")` '
            "constrains the answers of any model. Received: crf=False"
        )
    config = config_of(encoder)
    head = layers.ClassificationHead(
        labels,
        dropout=config.dropout if dropout is None else dropout,
        initializer_range=config.initializer_range,
        name="head",
    )
    inputs = id_inputs()
    logits = head(without_pooler(encoder)(inputs)["sequence_output"])
    if not crf:
        return keras.Model(inputs, {"logits": logits}, name=name)
    scores = layers.CRF(head.labels, constrained, name="crf")(logits)
    return keras.Model(inputs, {"crf_scores": scores}, name=name)

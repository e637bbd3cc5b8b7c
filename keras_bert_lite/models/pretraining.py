"""Models of the pretraining objectives."""

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import (
    config_of,
    connect_layers,
    encoder_layers,
    id_inputs,
)
from keras_bert_lite.models.masked_lm import prediction_logits


def pretrainer(
    encoder: keras.Model,
    dropout: float = 0.0,
    tied: bool = True,
    name: str = "pretrainer",
) -> keras.Model:
    """Builds BERT's and ALBERT's pretraining model: words, and the next sentence.

    Args:
        encoder: An encoder with `pooled_output`.
        dropout: Rate before the layer that judges the pair (ALBERT has it).
        tied: See `masked_lm`.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the outputs
        `prediction_logits`, `(B, S, V)`, and `seq_relationship_logits`,
        `(B, 2)`: the first is that the second text follows (BERT) or that the
        two are in order (ALBERT).

    Raises:
        ValueError: If the encoder has no `pooled_output`.
    """
    _check_pooled(encoder)
    inputs = id_inputs()
    outputs = connect_layers(inputs, *encoder_layers(encoder))
    return keras.Model(
        inputs,
        {
            "prediction_logits": prediction_logits(encoder, outputs, tied),
            "seq_relationship_logits": _pair_head(encoder, dropout)(
                outputs["pooled_output"]
            ),
        },
        name=name,
    )


def next_sentence_predictor(
    encoder: keras.Model, name: str = "next_sentence_predictor"
) -> keras.Model:
    """Builds a model that tells whether the second text follows the first.

    Returns:
        A functional model with the encoder's inputs and the output
        `seq_relationship_logits`, `(B, 2)`; the first is that it follows.

    Raises:
        ValueError: If the encoder has no `pooled_output`.
    """
    _check_pooled(encoder)
    inputs = id_inputs()
    logits = _pair_head(encoder, 0.0)(encoder(inputs)["pooled_output"])
    return keras.Model(inputs, {"seq_relationship_logits": logits}, name=name)


def replaced_token_detector(
    encoder: keras.Model, name: str = "replaced_token_detector"
) -> keras.Model:
    """Builds ELECTRA's discriminator: whether each token was replaced.

    Returns:
        A functional model with the encoder's inputs and the output `logits`,
        `(B, S)`; above 0 means replaced.
    """
    config = config_of(encoder)
    head = layers.ReplacedTokenHead(
        hidden_activation=config.activation,
        initializer_range=config.initializer_range,
        name="head",
    )
    inputs = id_inputs()
    logits = head(encoder(inputs)["sequence_output"])
    return keras.Model(inputs, {"logits": logits}, name=name)


def _pair_head(encoder: keras.Model, dropout: float) -> layers.DenseHead:
    return layers.DenseHead(
        2,
        dropout=dropout,
        initializer_range=config_of(encoder).initializer_range,
        name="pair_head",
    )


def _check_pooled(encoder: keras.Model) -> None:
    if config_of(encoder).pooling is None:
        raise ValueError(
            "`encoder` must have a `pooled_output`; this one has only "
            f"{sorted(encoder.output)}. `load_encoder(source, pooling=...)` adds one."
        )

"""What heads over a whole sequence start from."""

from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import config_of

# Families whose heads have a hidden layer of their own on the first token's
# vector, in place of a pooler in the encoder: its activation, and the rate of
# dropout before it (`None`: that of the head).
HIDDEN_LAYERS: dict[str, dict[str, Any]] = {
    "roberta": {"hidden_activation": "tanh"},
    "xlm-roberta": {"hidden_activation": "tanh"},
    "distilbert": {"hidden_activation": "relu", "hidden_dropout": 0.0},
    "electra": {"hidden_activation": "gelu"},
    "deberta-v2": {"hidden_activation": "gelu", "hidden_dropout": 0.0},
}


def head_arguments(
    encoder: keras.Model, dropout: float | None, form: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Returns what a head over a sequence is made with, as the family has it.

    Args:
        encoder: The encoder that the head is for.
        dropout: Rate of dropout; `None` means the encoder's.
        form: `hidden_activation` and `hidden_dropout` of the head, if not the
            family's.

    Raises:
        ValueError: If the head needs a `pooled_output` that is not there.
    """
    config = config_of(encoder)
    form = HIDDEN_LAYERS.get(config.family, {}) if form is None else form
    if not form.get("hidden_activation") and config.pooling is None:
        raise ValueError(
            "`encoder` must have a `pooled_output`; this one has only "
            f"{sorted(encoder.output)}. `load_encoder(source, pooling=...)` adds one."
        )
    return {
        **form,
        "dropout": config.dropout if dropout is None else dropout,
        "initializer_range": config.initializer_range,
        "name": "head",
    }


def sequence_vector(
    outputs: dict[str, keras.KerasTensor], head: layers.DenseHead
) -> keras.KerasTensor:
    """Returns the vector `(B, H)` that a head reads, of an encoder's outputs."""
    if head.hidden_activation is None:
        return outputs["pooled_output"]
    return layers.FirstToken(name="first_token")(outputs["sequence_output"])

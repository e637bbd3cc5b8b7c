"""Checks that a model and pretraining data fit each other."""

import os
from pathlib import Path

import keras

from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from keras_bert_lite.pretraining.data.dataset import read_recipe
from keras_bert_lite.pretraining.data.recipe import Recipe
from keras_bert_lite.pretraining.data.shards import read_index
from keras_bert_lite.tasks.compatibility import check_fits
from keras_bert_lite.tasks.pretraining.bert import PAIRS
from keras_bert_lite.tasks.pretraining.electra import REPLACED, electra_discriminator
from keras_bert_lite.tasks.task import marked_model


def checked_config(model: keras.Model, recipe: Recipe, argument: str) -> EncoderConfig:
    """Returns the configuration of the trained encoder if model and data fit.

    Args:
        model: The model to pretrain.
        recipe: The recipe of the data.
        argument: The name of the data in error messages.

    Raises:
        ValueError: If they do not fit.
    """
    names = set(model.input)
    if "masked_positions" not in names:
        raise ValueError(
            "`model` must be made by `masked_positions_model` or "
            "`electra_pretrainer`. "
            f"Received: {model.name!r}, with the inputs {sorted(names)}"
        )
    if ("sequence_ids" in names) != recipe.pack:
        raise ValueError(
            f"`model` and `{argument}` must both be packed or not; see "
            f"`masked_positions_model(model, packed=...)`. Received: inputs "
            f"{sorted(names)}, and `{argument}` with pack={recipe.pack}"
        )
    if PAIRS.name in marked_model(model)[1] and not recipe.has_pairs:
        raise ValueError(
            f"`model` judges pairs, so `{argument}` must have pairs. Received: data "
            f"with objective={recipe.objective!r}"
        )
    encoder = _trained_encoder(model)
    check_fits(encoder, recipe.preprocessor, "model")
    return config_of(encoder)


def check_validation(
    model: keras.Model, validation: str | os.PathLike, recipe: Recipe
) -> Recipe:
    """Returns the recipe of held-out data if they fit the model and training data.

    Raises:
        FileNotFoundError: If there are no held-out data.
        ValueError: If they do not fit.
    """
    held_out = read_recipe(validation, "validation")
    read_index(Path(validation), "validation")
    checked_config(model, held_out, "validation")
    tokenizers = [x.preprocessor.tokenizer.get_config() for x in (held_out, recipe)]
    other = [
        k for k, v in tokenizers[0].items() if k != "name" and tokenizers[1].get(k) != v
    ]
    if other:
        raise ValueError(
            "`validation` must be made with the tokenizer of `data`. "
            f"Received: {str(validation)!r}, with another {other}"
        )
    return held_out


def _trained_encoder(model: keras.Model) -> keras.Model:
    """Returns the encoder that is trained; the model may contain others."""
    own, marks = marked_model(model)
    return encoder_of(electra_discriminator(own) if REPLACED.name in marks else own)

"""Loading Google's TF1 checkpoints of BERT, ALBERT and ELECTRA."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite.checkpoints.core.assign import fill_model, is_new_pooler
from keras_bert_lite.checkpoints.core.name_table import (
    TENSORFLOW,
    Target,
    model_parts,
    targets,
)
from keras_bert_lite.checkpoints.core.tensorflow_files import INDEX
from keras_bert_lite.checkpoints.google import names
from keras_bert_lite.checkpoints.google.config import read_config
from keras_bert_lite.checkpoints.google.files import Checkpoint, open_files
from keras_bert_lite.checkpoints.sources import Source
from keras_bert_lite.checkpoints.tokenizers.loading import (
    load_preprocessor as load_preprocessor,
    load_tokenizer as load_tokenizer,
)
from keras_bert_lite.models.encoder_model import encoder
from keras_bert_lite.tasks.masked_lm import masked_lm
from keras_bert_lite.tasks.pretraining.bert import (
    bert_pretrainer,
    next_sentence_predictor,
    replaced_token_detector,
)


def detect(source: Source) -> bool:
    """Returns whether a source is a directory with a TensorFlow checkpoint."""
    return isinstance(source, Path) and any(source.glob(f"*{INDEX}"))


def load_encoder(
    directory: Path,
    pooling: str | None,
    changes: dict[str, Any],
    part: str | None = None,
) -> keras.Model:
    """Loads the encoder of a Google checkpoint.

    Args:
        directory: A directory with one checkpoint (`*.index` and `*.data-*`) and
            `bert_config.json` or `albert_config.json`. For ELECTRA without a
            configuration, the sizes are inferred from the variables.
        pooling: See `load.load_encoder`.
        changes: See `load.load_encoder`.
        part: The part of ELECTRA, `"discriminator"` or `"generator"`. By default
            the discriminator if there is one.

    Returns:
        A model as returned by `encoder`. For BERT and ALBERT, `"gelu"` means the
        tanh approximation that their code computes (`gelu_tanh`); for ELECTRA it
        means the exact function.

    Warns:
        UserWarning: If a pooler starts from random weights, or variables other
            than the optimizer's stay unused.

    Raises:
        ValueError: If there is not exactly one checkpoint and one configuration,
            the files are broken, or the variables do not exactly match the
            configuration.

    Reference: `modeling.py` of google-research/bert, google-research/albert
    and google-research/electra.
    """
    stored = open_files(directory, part)
    kind = stored.pooling if pooling == "checkpoint" else pooling
    model = _encoder(directory, stored, kind, changes)
    found = _targets(model, stored.names)
    new = is_new_pooler(pooling, stored.pooling)
    return fill_model(stored.source, model, found, stored.required, new)


def load_model(
    directory: Path, changes: dict[str, Any], part: str | None = None
) -> keras.Model:
    """Loads a Google checkpoint with its pretraining heads.

    Args:
        directory: See `load_encoder`.
        changes: See `load_encoder`.
        part: See `load_encoder`.

    Returns:
        For BERT and ALBERT, a `bert_pretrainer`; if the checkpoint lacks some of
        its heads, a `masked_lm`, a `next_sentence_predictor` or an encoder. For
        ELECTRA, a `replaced_token_detector` (discriminator) or a `masked_lm`
        (generator), or an encoder if the checkpoint lacks the head.

    Warns:
        UserWarning: See `load_encoder`.

    Raises:
        ValueError: See `load_encoder`.
    """
    stored = open_files(directory, part)
    build, head = _head(stored)
    pooled = build in (None, bert_pretrainer, next_sentence_predictor)
    pair = build in (bert_pretrainer, next_sentence_predictor)
    if pair and stored.pooling is None:
        raise ValueError(f"{stored.source.location} lacks the variables 'bert/pooler'.")
    model = _encoder(directory, stored, stored.pooling if pooled else None, changes)
    if build is not None:
        model = build(model)
    found = _targets(model, {**stored.names, **head})
    if pair:
        found |= targets(
            names.PAIR_NAMES, model_parts(model), names.PAIR_VARIABLES, separator="/"
        )
    return fill_model(stored.source, model, found, stored.required)


def _head(stored: Checkpoint) -> tuple[Callable | None, Mapping[str, str]]:
    """Returns the builder of the heads, and the names of all but the pair head."""
    has = stored.source.has
    if stored.part == "generator" and has(names.GENERATOR):
        return masked_lm, names.GENERATOR_NAMES
    if stored.part == "discriminator" and has(names.DISCRIMINATOR):
        return replaced_token_detector, names.DISCRIMINATOR_NAMES
    words, pair = has(names.WORDS), has(names.PAIR)
    if words and pair:
        return bert_pretrainer, names.WORD_NAMES
    if words:
        return masked_lm, names.WORD_NAMES
    return (next_sentence_predictor if pair else None), {}


def _encoder(
    directory: Path, stored: Checkpoint, pooling: str | None, changes: dict[str, Any]
) -> keras.Model:
    config = read_config(
        directory,
        stored.family,
        stored.sizes,
        stored.source.stored_bytes,
        pooling,
        changes,
    )
    return encoder(config)


def _targets(model: keras.Model, table: Mapping[str, str]) -> dict[str, Target]:
    return targets(table, model_parts(model), TENSORFLOW, separator="/")

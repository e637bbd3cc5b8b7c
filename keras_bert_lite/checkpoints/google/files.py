"""Recognizing the contents of Google's TF1 checkpoints by their variable names."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.core.tensorflow_files import (
    TensorFlowSource,
    checkpoint_prefix,
)
from keras_bert_lite.checkpoints.google import names
from keras_bert_lite.checkpoints.google.config import electra_sizes
from keras_bert_lite.checks import check_choice

PARTS = ("discriminator", "generator")


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The contents of a checkpoint.

    Args:
        source: The variables.
        family: See `EncoderConfig`.
        names: The names of the encoder's modules, mapped to our layers.
        required: Name prefixes of variables that must have a target.
        sizes: Configuration fields inferred from the shapes, for checkpoints
            without a configuration.
        part: The part of ELECTRA; see `open_files`.
    """

    source: TensorFlowSource
    family: str
    names: Mapping[str, str]
    required: tuple[str, ...]
    sizes: Mapping[str, Any] | None = None
    part: str | None = None

    @property
    def pooling(self) -> str | None:
        return "cls_dense" if self.source.has(names.POOLER) else None


def open_files(directory: Path, part: str | None) -> Checkpoint:
    """Opens the only checkpoint in a directory.

    Args:
        directory: The directory with the files `*.index` and `*.data-*`.
        part: The part of ELECTRA, `"discriminator"` or `"generator"`. By default
            the discriminator if there is one.

    Raises:
        ValueError: If there is not exactly one checkpoint, its index is broken, its
            variables are not those of BERT, ALBERT or ELECTRA, or `part` is given
            for a model other than ELECTRA.
    """
    check_choice("part", part, (*PARTS, None))
    source = TensorFlowSource(checkpoint_prefix(directory))
    if source.has("electra/") or source.has("generator/"):
        return _electra(source, part)
    if part is not None:
        raise ValueError(
            f"`part` must be None: {source.location} is not ELECTRA's. "
            f"Received: {part!r}"
        )
    if source.has("bert/encoder/transformer/"):
        table = names.ALBERT
        return Checkpoint(
            source, "albert", table, ("bert/embeddings/", "bert/encoder/")
        )
    if source.has("bert/"):
        table = names.bert_names("bert", "bert")
        return Checkpoint(source, "bert", table, ("bert/embeddings/", "bert/encoder/"))
    raise ValueError(
        f"{source.location} must hold variables 'bert/...' or 'electra/...', as "
        f"Google's checkpoints do. Received: {source.names()[:5]}"
    )


def _electra(source: TensorFlowSource, part: str | None) -> Checkpoint:
    """Opens ELECTRA, whose two parts may share the embeddings or the whole encoder."""
    own_encoder = source.has("generator/encoder/")
    if part is None:
        words_only = source.has(names.GENERATOR) and not source.has(names.DISCRIMINATOR)
        has_discriminator = source.has("electra/encoder/")
        without = not has_discriminator or (words_only and not own_encoder)
        part = "generator" if without else "discriminator"
    scope = "generator" if part == "generator" and own_encoder else "electra"
    tables = scope if source.has(f"{scope}/embeddings/") else "electra"
    return Checkpoint(
        source,
        "electra",
        names.bert_names(scope, tables),
        (f"{scope}/embeddings_project/", f"{scope}/encoder/", f"{tables}/embeddings/"),
        electra_sizes(source, scope, tables),
        part,
    )

"""A model whose encoder multiplies in int8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_bert_lite._private import set_keras_mask, sublayers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.layers import Encoder
from keras_bert_lite.layers.base import padding_mask_of
from keras_bert_lite.layers.execution.real_tokens import RealTokens
from keras_bert_lite.models.encoder_model import (
    check_plain_weights,
    encoder_layers,
    encoder_of,
)
from keras_bert_lite.serving.saved_model.int8.block import (
    check_covered,
    in_int8,
    variables_of,
    with_recorders,
    written_out,
)
from keras_bert_lite.serving.saved_model.int8.calibration import Texts, calibrate
from keras_bert_lite.serving.saved_model.int8.parts import rows_in_parts
from keras_bert_lite.serving.saved_model.int8.product import check_kernel
from keras_bert_lite.serving.saved_model.other_encoder import (
    check_blocks,
    with_blocks,
    with_encoder,
    with_parts,
)
from keras_bert_lite.tasks.text_model import TextModel, model_on_ids


class Int8Encoder(Encoder):
    """An encoder for blocks in int8, which computes parts of the rows in parallel.

    Its layout pads the number of tokens to a few sizes, as oneDNN makes a kernel for
    each.
    It is for inference: `training` has no effect.
    """

    def call(
        self,
        x: tf.Tensor,
        padding_mask: tf.Tensor | None = None,
        sequence_ids: tf.Tensor | None = None,
        training: Any = None,
    ) -> Any:
        padding_mask = padding_mask_of(x, padding_mask)
        outputs = rows_in_parts(super().call, x, padding_mask, sequence_ids)
        if padding_mask is not None:  # which a map over the parts loses
            states = [outputs["sequence_output"], *outputs.get("hidden_states", ())]
            for state in states:
                set_keras_mask(state, tf.cast(padding_mask, tf.bool))
        return outputs

    def _real_tokens(self, reads: Any, mask: tf.Tensor, **options: Any) -> RealTokens:
        return super()._real_tokens(reads, mask, in_steps=True, **options)


def int8_model(
    model: TextModel,
    calibration: Texts,
    verbose: int = 0,
    keep: Sequence[int] | None = None,
) -> tuple[TextModel, list[tf.Variable], list[keras.Variable]]:
    """Returns a model whose encoder multiplies in int8.

    Args:
        model, calibration, verbose, keep: See `export_saved_model`.

    Returns:
        The model; the variables of its int8 layers; and the tables of its embeddings,
        which are in float32 and to be stored in int8.

    Raises:
        NotImplementedError, TypeError, ValueError: See `export_saved_model`.
    """
    check_kernel()
    body = model_on_ids(model)
    check_plain_weights(body)
    embeddings, encoder, _ = encoder_layers(encoder_of(body))
    kept = _kept(keep, len(encoder.blocks))
    chosen = [x for i, x in enumerate(encoder.blocks) if i not in kept]
    config = encoder.config
    family = (
        "an encoder of layers" if config is None else f"a {config.family!r} encoder"
    )
    check_covered(chosen, family)
    check_blocks(encoder.blocks, "int8")
    recorded = [
        block if i in kept else with_recorders(block)
        for i, block in enumerate(encoder.blocks)
    ]
    calibrate(model, encoder, recorded, calibration, verbose)
    blocks = [
        with_parts(block, norm=written_out)
        if i in kept
        else in_int8(block, recorded[i])
        for i, block in enumerate(encoder.blocks)
    ]
    new = with_blocks(encoder, blocks, Int8Encoder, norm=written_out)
    tables = [
        layer.embeddings
        for layer in sublayers(embeddings)
        if isinstance(layer, keras.layers.Embedding)
    ]
    variables = [
        variable
        for i, block in enumerate(blocks)
        if i not in kept
        for variable in variables_of(block)
    ]
    return with_encoder(model, encoder, new), variables, tables


def _kept(keep: Sequence[int] | None, count: int) -> set[int]:
    """Returns the indices of the blocks that stay in float32.

    Raises:
        ValueError: If `keep` has others than some of the blocks, or all of them.
    """
    given = [] if keep is None else [*keep] if isinstance(keep, Sequence) else [keep]
    known = range(count)
    if not all(type(x) is int and x in known for x in given) or {*given} == {*known}:
        raise ValueError(
            f"`keep` must be a list of some of the {count} blocks, from 0, but not of "
            f"all. Received: {keep!r}"
        )
    return set(given)

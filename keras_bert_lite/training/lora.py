"""Low-rank adaptation of an encoder."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import keras

from keras_bert_lite._private import sublayers
from keras_bert_lite.checks import check_above_zero, check_positive
from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of, recompile
from keras_bert_lite.training.freezing import thaw


def enable_lora(
    model: keras.Model,
    rank: int = 8,
    targets: Sequence[str] = ("query", "value"),
    alpha: float | None = None,
) -> None:
    """Trains low-rank changes of some of an encoder's matrices in their place.

    A dense layer computes `x W + (alpha / rank) x A B + b`, with A of shape
    `(inputs, rank)`, B of shape `(rank, outputs)` and zero at first. A and B
    train; all else in the encoder is frozen, its pooler too, but not the head.
    It is Keras's own `Dense.enable_lora`, on all blocks. Compile the model
    afterwards.

    Keras saves `W + (alpha / rank) A B` for W, without A and B: a `.keras` file
    is a plain model that gives the same and whose every weight trains. Load it
    with `compile=False`, for the optimizer knew other weights. And weights
    loaded into a model with LoRA, as `BackupAndRestore` does, leave A and B at
    zero, where they learn nothing: `merge_lora` and enable anew.

    Args:
        model: An encoder or a model built on one.
        rank: Of the changes.
        targets: Names of dense layers inside the blocks, or ends of their paths:
            `"query"`, `"key"`, `"value"`, `"attention/output_dense"`,
            `"intermediate_dense"`, `"feed_forward/output_dense"`, or
            `"output_dense"` for two of them.
        alpha: See above; `None`: the rank.

    Raises:
        TypeError: If `targets` is not a list of names.
        ValueError: If the model holds no encoder or has LoRA already, no dense
            layer has the name of a target, or a number is out of its range.

    Example: 2 layers of 2 targets, `(128 + 128) * 8` weights each, and the head's
    `128 * 2 + 2`.

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.text_classifier(encoder, labels=["bad", "good"])
    >>> kbl.tuning.enable_lora(model)
    >>> sum(x.numpy().size for x in model.trainable_weights)
    8450

    Reference: [Hu et al., 2021](https://arxiv.org/abs/2106.09685).
    """
    check_positive("rank", rank)
    if alpha is not None:
        check_above_zero("alpha", alpha)
    encoder = encoder_of(model)
    chosen = _find(encoder, targets)
    thaw(encoder)  # A and B are frozen in frozen layers
    for variable in encoder.weights:
        variable.trainable = False
    for dense in chosen:
        dense.enable_lora(rank, lora_alpha=alpha)
    recompile(model)


def merge_lora(model: keras.Model) -> keras.Model:
    """Returns a plain model that computes what one with LoRA does.

    Args:
        model: A model after `enable_lora`, which stays as it is.

    Returns:
        A copy, not compiled, with the changes added to the matrices. All of its
        weights train.
    """
    plain = type(model).from_config(model.get_config())
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "merged.weights.h5"
        model.save_weights(path)  # Keras merges here
        plain.load_weights(path)
    return plain


def _find(encoder: keras.Model, targets: Sequence[str]) -> list[keras.layers.Dense]:
    """Returns the dense layers of the blocks that some target names."""
    if isinstance(targets, str) or not all(isinstance(x, str) for x in targets):
        raise TypeError(f"`targets` must be a list of names. Received: {targets!r}")
    denses = [
        layer
        for block in encoder_layers(encoder)[1].blocks
        for layer in sublayers(block)
        if isinstance(layer, keras.layers.Dense)
    ]
    if any(dense.lora_enabled for dense in denses):
        raise ValueError(
            "`model` must be without LoRA; `merge_lora` merges what it has. "
            f"Received: {encoder!r} with LoRA"
        )
    found = {x: [d for d in denses if f"/{d.path}".endswith(f"/{x}")] for x in targets}
    missing = [target for target, layers in found.items() if not layers]
    if missing or not found:
        names = sorted({dense.path.partition("/block_0/")[2] for dense in denses})
        raise ValueError(
            f"`targets` must be among {[name for name in names if name]}. "
            f"Received: {list(targets)}"
        )
    return [d for d in denses if any(d in layers for layers in found.values())]

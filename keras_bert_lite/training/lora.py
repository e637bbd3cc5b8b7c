"""Low-rank adaptation (LoRA) of an encoder."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import keras

from keras_bert_lite._private import sublayers
from keras_bert_lite.checks import check_above_zero, check_positive
from keras_bert_lite.compiled import discard_compiled
from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of
from keras_bert_lite.training.freezing import thaw


def enable_lora(
    model: keras.Model,
    rank: int = 8,
    targets: Sequence[str] = ("query", "value"),
    alpha: float | None = None,
) -> None:
    """Enables LoRA in the encoder of a model.

    A dense layer then computes `x W + (alpha / rank) x A B + b`, with A of shape
    `(inputs, rank)` and B of shape `(rank, outputs)`, initially zero. A and B are
    trainable; the rest of the encoder, including the pooler, is frozen, but the
    head is not. This calls Keras's `Dense.enable_lora` in all blocks. Compile the
    model afterwards.

    Keras saves `W + (alpha / rank) A B` as W, without A and B. A `.keras` file is
    thus a plain model with the same outputs, and all its weights are trainable.
    Load it with `compile=False`, since the optimizer's state is for other weights.
    Loading weights into a model with LoRA, as `BackupAndRestore` does, sets A and
    B to zero, where they cannot learn. Call `merge_lora` and enable LoRA again.

    Args:
        model: An encoder or a model built on one.
        rank: The rank of the updates, at most the width of the layers.
        targets: Names of dense layers inside the blocks, or ends of their paths:
            `"query"`, `"key"`, `"value"`, `"attention/output_dense"`,
            `"intermediate_dense"`, `"feed_forward/output_dense"`, or
            `"output_dense"` for two of them.
        alpha: The scale, see above; `None`: the rank.

    Raises:
        TypeError: If `targets` is not a list of names.
        ValueError: If the model has no encoder or has LoRA already, a target
            matches no dense layer, or a number is out of range.

    Example: 2 layers with 2 targets each, `(128 + 128) * 8` weights per target, and
    the head's `128 * 2 + 2`.

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
    for dense in chosen:
        _check_rank(rank, dense)
    thaw(encoder)  # A and B would be frozen in frozen layers
    for variable in encoder.weights:
        variable.trainable = False
    for dense in chosen:
        dense.enable_lora(rank, lora_alpha=alpha)
    discard_compiled(model)


def merge_lora(model: keras.Model) -> keras.Model:
    """Returns a plain model with the LoRA updates merged into its weights.

    Args:
        model: A model with LoRA enabled; it is not changed.

    Returns:
        A copy with the same outputs. It is not compiled, and all its weights are
        trainable.
    """
    plain = type(model).from_config(model.get_config())
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "merged.weights.h5"
        model.save_weights(path)  # Keras merges here
        plain.load_weights(path)
    return plain


def _check_rank(rank: int, dense: keras.layers.Dense) -> None:
    """Raises an error if A and B would hold more than the kernel that they change."""
    width = min(dense.kernel.shape)
    if rank > width:
        raise ValueError(
            f"`rank` must be at most {width}, the narrower side of {dense.path!r}. "
            f"Received: {rank}"
        )


def _find(encoder: keras.Model, targets: Sequence[str]) -> list[keras.layers.Dense]:
    """Returns the dense layers of the blocks that match a target."""
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
            "`model` must be without LoRA; call `merge_lora` first. "
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

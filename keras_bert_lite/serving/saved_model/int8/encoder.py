"""A model whose encoder multiplies in int8 while it is traced."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_bert_lite._private import sublayers
from keras_bert_lite.layers.execution.layer_norm import LayerNorm
from keras_bert_lite.models.encoder_model import (
    check_plain_weights,
    encoder_layers,
    encoder_of,
)
from keras_bert_lite.models.text_model import TextModel, model_on_ids
from keras_bert_lite.serving.saved_model.dense_calls import replaced_calls
from keras_bert_lite.serving.saved_model.int8.calibration import Texts, observe
from keras_bert_lite.serving.saved_model.int8.dense_layers import (
    check_covered,
    in_int8,
    observed_layers,
    replaced_weights,
)
from keras_bert_lite.serving.saved_model.int8.parts import rows_in_parts
from keras_bert_lite.serving.saved_model.int8.product import check_kernel
from keras_bert_lite.serving.saved_model.stored_weights import in_parts


class EncoderInInt8:
    """What the encoder of a model needs to multiply in int8.

    Args:
        model, calibration, verbose, keep: See `export_saved_model`.

    Raises:
        NotImplementedError, TypeError, ValueError: See `export_saved_model`.
    """

    def __init__(
        self,
        model: TextModel,
        calibration: Texts,
        verbose: int = 0,
        keep: Sequence[int] | None = None,
    ) -> None:
        check_kernel()
        body = model_on_ids(model)
        check_plain_weights(body)
        self._model = model
        self._embeddings, self._encoder, _ = encoder_layers(encoder_of(body))
        blocks = self._encoder.blocks
        check_covered(blocks)
        kept = _kept(keep, len(blocks))
        self._blocks = [x for i, x in enumerate(blocks) if i not in kept]
        layers = observed_layers(self._blocks)
        self._seen = observe(model, calibration, layers, verbose)

    @contextlib.contextmanager
    def traced(self) -> Iterator[tuple[list[tf.Variable], list[Any]]]:
        """Lets the encoder multiply in int8.

        Yields:
            The model's variables in float32 that are still used, and the objects that a
            SavedModel has to track besides.
        """
        tables = [
            layer.embeddings
            for layer in sublayers(self._embeddings)
            if isinstance(layer, keras.layers.Embedding)
        ]
        others = {id(x) for x in [*replaced_weights(self._blocks), *tables]}
        kept = [x.value for x in self._model.variables if id(x) not in others]
        calls = {self._encoder: rows_in_parts(self._encoder.call)}
        for layer in sublayers(self._encoder):
            if isinstance(layer, LayerNorm):
                calls[layer] = layer.written_out  # its kernel would wake a thread
        with replaced_calls(calls), in_int8(self._blocks, self._seen) as variables:
            stored = [x for t in tables for x in in_parts(t.value, "int8")]
            yield kept, [*variables, *stored]


def _kept(keep: Sequence[int] | None, count: int) -> set[int]:
    """Returns the layers that stay in float32.

    Raises:
        ValueError: If `keep` has others than some of the layers, or all of them.
    """
    given = [] if keep is None else [*keep] if isinstance(keep, Sequence) else [keep]
    known = range(count)
    if not all(type(x) is int and x in known for x in given) or {*given} == {*known}:
        raise ValueError(
            f"`keep` must be a list of some of the {count} layers, from 0, but not of "
            f"all. Received: {keep!r}"
        )
    return set(given)

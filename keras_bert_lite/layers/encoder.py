"""The stack of encoder blocks."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite._private import compiles_with_xla, set_keras_mask
from keras_bert_lite.checks import check_choice
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.attention.relative_bias import RelativeBiasTable
from keras_bert_lite.layers.attention.relative_positions import RelativeTable
from keras_bert_lite.layers.base import EncoderPart, padding_mask_of
from keras_bert_lite.layers.encoder_block import EncoderBlock
from keras_bert_lite.layers.execution.engines import engine_fuses_attention
from keras_bert_lite.layers.execution.padded_rows import PaddedRows
from keras_bert_lite.layers.execution.real_tokens import RealTokens
from keras_bert_lite.layers.execution.whole_rows import WholeRows
from keras_bert_lite.layers.token_convolution import TokenConvolution


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Encoder(EncoderPart):
    """A stack of encoder blocks.

    Args:
        config: The `EncoderConfig`, or its fields in a dictionary. The
            `num_layers` (L) layers share `num_groups` blocks.
        hidden_states: Whether to return the input and every block's output.
        attentions: Whether to return every block's attention weights.
        unpadding: Whether to compute on the real tokens only, with the same
            results. This needs TensorFlow without XLA; `"auto"` uses it wherever
            possible, including SavedModels. Rows stay padded with `attentions` or
            `sequence_ids`.
        gradient_checkpointing: Whether training keeps only the output of each block
            and recomputes the rest for the gradients.
        layers: Another `Encoder` whose sublayers are shared; see `with_outputs`.

    Call arguments:
        x, padding_mask, sequence_ids: See `SelfAttention`.

    Output shape:
        A dictionary: `sequence_output` `(B, S, H)`; on request, `hidden_states`, a
        list of L + 1 tensors `(B, S, H)` from the input to the `sequence_output`;
        and `attentions`, a list of L tensors `(B, N, S, S)`. Vectors at padding are
        zeros, and `padding_mask` is their Keras mask: Keras layers on them ignore
        padding.
    """

    def __init__(
        self,
        config: EncoderConfig | dict[str, Any],
        hidden_states: bool = False,
        attentions: bool = False,
        unpadding: bool | str = "auto",
        gradient_checkpointing: bool = False,
        layers: "Encoder | None" = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, **kwargs)
        self.hidden_states = hidden_states
        self.attentions = attentions
        self.unpadding = unpadding
        self.gradient_checkpointing = gradient_checkpointing
        source = layers or self
        self.blocks: list[EncoderBlock] = layers.blocks if layers else self._blocks()
        self.relative_table: RelativeTable | None = source._part(
            "relative_table", RelativeTable, self.config.relative_positions
        )
        self.relative_bias: RelativeBiasTable | None = source._part(
            "relative_bias", RelativeBiasTable, self.config.relative_bias
        )
        self.convolution: Any = source._part(
            "convolution", TokenConvolution, self.config.convolution_size
        )
        self.final_norm: keras.layers.Layer | None = None
        if self.config.norms.final:
            self.final_norm = (
                layers.final_norm if layers else self._layer_norm("final_norm")
            )

    def _blocks(self) -> list[EncoderBlock]:
        count = self.config.num_groups or self.config.num_layers
        return [
            EncoderBlock(self.config, i, dtype=self.dtype_policy, name=f"block_{i}")
            for i in range(count)
        ]

    def _part(self, name: str, kind: Any, wanted: Any) -> Any:
        """Returns the sublayer of a name, and creates it if it is missing."""
        if not wanted:
            return None
        made = getattr(self, name, None)
        return made or kind(self.config, dtype=self.dtype_policy, name=name)

    def build(self, x_shape, padding_mask_shape=None, sequence_ids_shape=None):
        for layer in self._sublayers():
            if not layer.built:  # they may be shared; see `with_outputs`
                layer.build(x_shape)

    def _sublayers(self) -> list[keras.layers.Layer]:
        layers = (
            *self.blocks,
            self.relative_table,
            self.relative_bias,
            self.convolution,
            self.final_norm,
        )
        return [layer for layer in layers if layer is not None]

    @property
    def unpadding(self) -> bool | str:
        return self._remove_padding

    @unpadding.setter
    def unpadding(self, choice: bool | str) -> None:
        check_choice("unpadding", choice, (True, False, "auto"))
        tensorflow = keras.backend.backend() == "tensorflow"
        if choice != "auto" and choice and not tensorflow:
            raise NotImplementedError(
                "`unpadding=True` needs the TensorFlow backend: the number of "
                "real tokens differs between batches, and "
                f"{keras.backend.backend()} compiles for each. Received: True. "
                'Use "auto" or False, and pad to a few lengths.'
            )
        self._remove_padding = choice
        self.supports_jit = choice in (False, "auto")  # or Keras leaves XLA off

    @property
    def gradient_checkpointing(self) -> bool:
        return self._gradient_checkpointing

    @gradient_checkpointing.setter
    def gradient_checkpointing(self, choice: bool) -> None:
        if not isinstance(choice, bool):
            raise TypeError(
                f"`gradient_checkpointing` must be True or False. Received: {choice!r}"
            )
        self._gradient_checkpointing = choice

    def _removes_padding(self, padding_mask, sequence_ids) -> bool:
        if padding_mask is None or sequence_ids is not None or self.attentions:
            return False
        if self.unpadding == "auto":
            return keras.backend.backend() == "tensorflow" and not compiles_with_xla()
        return bool(self.unpadding)

    def call(self, x, padding_mask=None, sequence_ids=None, training=None):
        padding_mask = padding_mask_of(x, padding_mask)
        if self._removes_padding(padding_mask, sequence_ids):
            mask = ops.cast(padding_mask, "bool")
            rows: Any = (
                WholeRows(self.config, mask)
                if engine_fuses_attention()
                else RealTokens(self.config, mask, training)
            )
        else:
            shape = ops.shape(x)[:2]
            rows = PaddedRows(
                self.config, shape, padding_mask, sequence_ids, self.attentions
            )
        states, maps = self._run(rows.without_padding(x), rows, training)
        kept = states if self.hidden_states else states[-1:]
        states = [rows.with_padding(state) for state in kept]
        return self._named(states[-1], states, maps, rows.mask)

    def _run(self, x, rows, training) -> tuple[list[Any], list[Any]]:
        """Returns the input and the output of each layer, and the attention weights."""
        states, maps = [x], []
        arguments = {"rows": rows, "training": training, **self._shared(rows)}
        layers_per_block = self.config.num_layers // len(self.blocks)
        for i in range(self.config.num_layers):
            block = self.blocks[i // layers_per_block]
            checkpointing = self.gradient_checkpointing and training
            run = block.recomputed if checkpointing else block
            output = run(x, return_weights=self.attentions, **arguments)
            x, weights = output if self.attentions else (output, None)
            if i == 0 and self.convolution is not None:
                x = self._convolved(states[0], x, rows, training)
            states.append(x)
            maps.append(weights)
        if self.final_norm is not None:
            states[-1] = self.final_norm(x)
        return states, maps

    def _shared(self, rows) -> dict[str, Any]:
        """Computes the inputs that all blocks share, which have weights."""
        shared: dict[str, Any] = {}
        if self.relative_table is not None:
            shared["relative_embeddings"] = self.relative_table.rows()
        if self.relative_bias is not None:
            shared["relative_biases"] = self.relative_bias.biases(rows.lengths)
        return shared

    def _convolved(self, x, output, rows, training):
        """Applies the convolution, which needs padded rows for a token's neighbours."""
        x, output = rows.with_padding(x), rows.with_padding(output)
        x = self.convolution(x, output, padding_mask=rows.mask, training=training)
        return rows.without_padding(x)

    def compute_output_spec(
        self, x, padding_mask=None, sequence_ids=None, training=None
    ):
        spec = self.blocks[0].compute_output_spec
        specs = [
            spec(x, return_weights=True) for _ in range(self.config.num_layers + 1)
        ]
        states = [output for output, _ in specs]
        maps = [weights for _, weights in specs[1:]]
        mask = padding_mask_of(x, padding_mask)
        return self._named(spec(x), states, maps, mask)

    def _named(self, sequence_output, states, maps, mask=None) -> dict[str, Any]:
        if mask is not None:
            for state in (sequence_output, *states):
                set_keras_mask(state, mask)
        outputs = {"sequence_output": sequence_output}
        if self.hidden_states:
            outputs["hidden_states"] = states
        if self.attentions:
            outputs["attentions"] = maps
        return outputs

    def compute_mask(self, x, previous_mask):
        """Returns `None`: `call` sets the masks, which `padding_mask` determines."""
        return None

    def compute_output_shape(
        self, x_shape, padding_mask_shape=None, sequence_ids_shape=None
    ):
        batch, length, _ = x_shape
        weights = (batch, self.config.num_heads, length, length)
        states = [tuple(x_shape) for _ in range(self.config.num_layers + 1)]
        maps = [weights] * self.config.num_layers
        return self._named(tuple(x_shape), states, maps)

    def with_outputs(self, hidden_states: bool, attentions: bool) -> "Encoder":
        """Returns a layer that shares all sublayers and has other outputs."""
        outputs = {"hidden_states": hidden_states, "attentions": attentions}
        config = {**self.get_config(), **outputs, "dtype": self.dtype_policy}
        config.pop("frozen", None)  # the shared sublayers are frozen already
        return Encoder(**config, layers=self)

    def get_config(self) -> dict[str, Any]:
        frozen = [x.name for x in self._sublayers() if not x.trainable]
        return {
            **super().get_config(),
            **({"frozen": frozen} if frozen and self.trainable else {}),
            "hidden_states": self.hidden_states,
            "attentions": self.attentions,
            "unpadding": self.unpadding,
            "gradient_checkpointing": self.gradient_checkpointing,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Encoder":
        config = dict(config)
        frozen = config.pop("frozen", ())
        layer = super().from_config(config)
        for sublayer in layer._sublayers():
            if sublayer.name in frozen:
                sublayer.trainable = False
        return layer

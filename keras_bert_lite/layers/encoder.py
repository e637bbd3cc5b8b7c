"""The stack of encoder blocks."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite._private import compiles_with_xla, set_keras_mask
from keras_bert_lite.checks import check_choice, check_positive
from keras_bert_lite.compiled import discard_compiled
from keras_bert_lite.config import MOST_LAYERS, EncoderConfig, encoder_config
from keras_bert_lite.layer_config import config_of_part
from keras_bert_lite.layers.attention.relative_bias import RelativeBiasTable
from keras_bert_lite.layers.attention.relative_positions import RelativeTable
from keras_bert_lite.layers.base import (
    CompositeLayer,
    check_rows,
    check_states,
    check_width,
    norm_of,
    padding_mask_of,
    part_of,
)
from keras_bert_lite.layers.encoder_block import EncoderBlock
from keras_bert_lite.layers.execution.engines import engine_fuses_attention
from keras_bert_lite.layers.execution.padded_rows import PaddedRows
from keras_bert_lite.layers.token_convolution import TokenConvolution
from keras_bert_lite.sizes import check_fits, check_sizes


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Encoder(CompositeLayer):
    """A stack of encoder blocks.

    Args:
        num_layers: Number of layers (L); by default the number of `blocks`.
        num_heads: Number of attention heads, if no `blocks` are given.
        intermediate_dim: Width of the feed-forward networks, if no `blocks` are given.
        dropout: Dropout rate of the blocks, if none are given; by default 0.1.
        blocks: A list of `EncoderBlock`s. Consecutive layers share one if there are
            fewer than `num_layers`, whose number they must divide (ALBERT: 1).
        projection: A dense layer from the width of `x` to the width of the blocks
            (ALBERT, ELECTRA). `None`: they are the same.
        relative_table: A `RelativeTable`, for blocks with `DisentangledAttention`.
        relative_bias: A `RelativeBiasTable`, added to the scores of all blocks.
        convolution: A `TokenConvolution` next to the first block.
        final_norm: Whether the output of the last block is normalized, or a
            normalization layer.
        max_sequence_length: An upper bound on S, which is not checked. Up to 1,024,
            attention never runs in blocks of queries. `None`: no bound is known.
        hidden_states: Whether to return the input and every block's output.
        attentions: Whether to return every block's attention weights.
        unpadding: Whether to compute on the real tokens only, with the same
            results. This needs TensorFlow without XLA; `"auto"` uses it wherever
            possible, including SavedModels. Rows stay padded with `attentions` or
            `sequence_ids`.
        gradient_checkpointing: Whether training keeps only the output of each block
            and recomputes the rest for the gradients. Blocks must then have no layers
            with state or losses of their own, such as batch normalization.
        config: The `EncoderConfig` that the parts were made from, if there is one. It
            has no effect here: `config_of` reads it, for checkpoints and new heads.

    Call arguments:
        x: Floats of shape `(B, S, H)`.
        padding_mask, sequence_ids: See `SelfAttention`. A `convolution` takes no
            `sequence_ids`: it would mix neighbouring sequences.

    Output shape:
        A dictionary: `sequence_output` `(B, S, H)`; on request, `hidden_states`, a
        list of L + 1 tensors `(B, S, H)` from the input to the `sequence_output`;
        and `attentions`, a list of L tensors `(B, N, S, S)`. Vectors at padding are
        zeros, and `padding_mask` is their Keras mask: Keras layers on them ignore
        padding.

    Raises:
        TypeError: If a part is another kind of object.
        ValueError: If sizes or parts do not fit together.

    Example:

    >>> layer = Encoder(num_layers=4, num_heads=4, intermediate_dim=1024)
    >>> layer(keras.ops.ones((2, 5, 64)))["sequence_output"].shape
    TensorShape([2, 5, 64])
    """

    # Its arguments besides `blocks` and `config`: layers, and others.
    PARTS = (
        "projection",
        "relative_table",
        "relative_bias",
        "convolution",
        "final_norm",
    )
    OPTIONS = (
        "num_layers",
        "max_sequence_length",
        "hidden_states",
        "attentions",
        "unpadding",
        "gradient_checkpointing",
    )

    def __init__(
        self,
        num_layers: int | None = None,
        num_heads: int | None = None,
        intermediate_dim: int | None = None,
        dropout: float | None = None,
        blocks: list[Any] | None = None,
        projection: keras.layers.Layer | dict[str, Any] | None = None,
        relative_table: RelativeTable | dict[str, Any] | None = None,
        relative_bias: RelativeBiasTable | dict[str, Any] | None = None,
        convolution: TokenConvolution | dict[str, Any] | None = None,
        final_norm: keras.layers.Layer | dict[str, Any] | bool = False,
        max_sequence_length: int | None = None,
        hidden_states: bool = False,
        attentions: bool = False,
        unpadding: bool | str = "auto",
        gradient_checkpointing: bool = False,
        config: EncoderConfig | dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if num_layers is not None:
            check_positive("num_layers", num_layers)
            if num_layers > MOST_LAYERS:
                raise ValueError(
                    f"`num_layers` must be at most {MOST_LAYERS}. "
                    f"Received: {num_layers}"
                )
        if max_sequence_length is not None:
            check_positive("max_sequence_length", max_sequence_length)
        self.hidden_states = hidden_states
        self.attentions = attentions
        self.unpadding = unpadding
        self.gradient_checkpointing = gradient_checkpointing
        self.max_sequence_length = max_sequence_length
        self.config = None if config is None else encoder_config(config)
        self.projection: Any = part_of(projection, keras.layers.Layer, "projection")
        self.blocks: list[EncoderBlock] = (
            self._made_blocks(num_layers, num_heads, intermediate_dim, dropout)
            if blocks is None
            else _checked_blocks(
                blocks,
                num_heads=num_heads,
                intermediate_dim=intermediate_dim,
                dropout=dropout,
            )
        )
        self.num_layers = num_layers or len(self.blocks)
        if self.num_layers % len(self.blocks):
            raise ValueError(
                "The number of `blocks` must divide `num_layers`. Received: "
                f"{len(self.blocks)} blocks, num_layers={self.num_layers}"
            )
        self.relative_table: Any = part_of(
            relative_table, RelativeTable, "relative_table"
        )
        self.relative_bias: Any = part_of(
            relative_bias, RelativeBiasTable, "relative_bias"
        )
        self.convolution: Any = part_of(convolution, TokenConvolution, "convolution")
        self.final_norm = norm_of(final_norm, "final_norm", self.dtype_policy)

    def _made_blocks(
        self, num_layers: Any, num_heads: Any, intermediate_dim: Any, dropout: Any
    ) -> list[EncoderBlock]:
        if num_layers is None:
            raise ValueError("`num_layers` or `blocks` must be given. Received: None")
        check_positive("num_heads", num_heads)
        check_positive("intermediate_dim", intermediate_dim)
        return [
            EncoderBlock(
                num_heads,
                intermediate_dim,
                0.1 if dropout is None else dropout,
                dtype=self.dtype_policy,
                name=f"block_{i}",
            )
            for i in range(num_layers)
        ]

    def build(self, x_shape, padding_mask_shape=None, sequence_ids_shape=None):
        check_states(x_shape)
        self.width = x_shape[-1]
        if self.projection is not None:
            if not self.projection.built:
                self.projection.build(x_shape)
            x_shape = self.projection.compute_output_shape(x_shape)
        for layer in self._parts():
            if layer.built:  # they may be shared; see `with_outputs`
                continue
            layer.build(x_shape)
            if layer is self.blocks[0]:
                count = len(self.blocks) * layer.count_params()
                check_fits("`num_layers` or `blocks`", count)
        self._check_parts()

    def _check_parts(self) -> None:
        """Raises an error if what blocks need is missing."""
        reading = any(x.attention.reads_relative_table for x in self.blocks)
        if reading != (self.relative_table is not None):
            must = "be given, as some" if reading else "be None, as none"
            raise ValueError(
                f"`relative_table` must {must} of the blocks' attentions have "
                f"position terms. Received: {self.relative_table!r}"
            )
        for block in self.blocks:
            heads = block.attention.num_heads
            if self.relative_bias and self.relative_bias.num_heads != heads:
                raise ValueError(
                    "`relative_bias` must have the blocks' number of heads. Received: "
                    f"{self.relative_bias.num_heads}, and a block with {heads}"
                )

    # Neither is a property: Keras would store weights under its name.
    def blocks_in_order(self) -> list[EncoderBlock]:
        """Returns the block of each layer; consecutive layers may share one."""
        repeated = self.num_layers // len(self.blocks)
        return [block for block in self.blocks for _ in range(repeated)]

    def _parts(self) -> list[keras.layers.Layer]:
        """Returns the layers that the encoder consists of, but for the projection."""
        others = (getattr(self, name) for name in self.PARTS if name != "projection")
        return [*self.blocks, *(layer for layer in others if layer is not None)]

    @property
    def unpadding(self) -> bool | str:
        return self._unpadding

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
        changes = getattr(self, "_unpadding", choice) != choice
        self._unpadding = choice
        self.supports_jit = choice in (False, "auto")  # or Keras leaves XLA off
        if changes:
            discard_compiled(self)

    @property
    def gradient_checkpointing(self) -> bool:
        return self._gradient_checkpointing

    @gradient_checkpointing.setter
    def gradient_checkpointing(self, choice: bool) -> None:
        if not isinstance(choice, bool):
            raise TypeError(
                f"`gradient_checkpointing` must be True or False. Received: {choice!r}"
            )
        changes = getattr(self, "_gradient_checkpointing", choice) != choice
        self._gradient_checkpointing = choice
        if changes:
            discard_compiled(self)

    def _check_inputs(self, x, padding_mask, sequence_ids) -> None:
        check_rows(x, padding_mask=padding_mask, sequence_ids=sequence_ids)
        if sequence_ids is not None and self.convolution is not None:
            raise ValueError(
                "`sequence_ids` must be None with a `convolution`, which would mix "
                f"neighbouring sequences. Received: the shape {sequence_ids.shape}"
            )

    def _removes_padding(self, padding_mask, sequence_ids) -> bool:
        if padding_mask is None or sequence_ids is not None or self.attentions:
            return False
        if self.unpadding == "auto":
            return keras.backend.backend() == "tensorflow" and not compiles_with_xla()
        return bool(self.unpadding)

    def call(self, x, padding_mask=None, sequence_ids=None, training=None):
        padding_mask = padding_mask_of(x, padding_mask)
        check_states(x.shape)
        check_width(x, self.width)
        self._check_inputs(x, padding_mask, sequence_ids)
        layout = self._layout(x, padding_mask, sequence_ids, training)
        x = layout.without_padding(x)
        if self.projection is not None:
            x = self.projection(x)
        states, maps = self._run(x, layout, training)
        kept = states if self.hidden_states else states[-1:]
        states = [layout.with_padding(state) for state in kept]
        return self._named(states[-1], states, maps, layout.mask)

    def _layout(self, x, padding_mask, sequence_ids, training) -> Any:
        """Returns the layout of a batch, which all blocks share."""
        reads = [block.attention.reads for block in self.blocks]
        whole = self.attentions or self.relative_bias is not None
        whole = whole or any(x.attention.has_relative_terms for x in self.blocks)
        if not self._removes_padding(padding_mask, sequence_ids):
            shape = ops.shape(x)[:2]
            return PaddedRows(reads, shape, padding_mask, sequence_ids, whole)
        mask = ops.cast(padding_mask, "bool")
        if engine_fuses_attention():
            from keras_bert_lite.layers.execution.whole_rows import WholeRows

            return WholeRows(reads, mask)
        return self._real_tokens(reads, mask, training=training, whole_rows=whole)

    def _real_tokens(self, reads, mask, **options) -> Any:
        from keras_bert_lite.layers.execution.real_tokens import RealTokens

        longest = self.max_sequence_length
        return RealTokens(reads, mask, longest=longest, **options)

    def _run(self, x, layout, training) -> tuple[list[Any], list[Any]]:
        """Returns the input and the output of each layer, and the attention weights."""
        states, maps = [x], []
        shared = self._shared_arguments(layout)
        for i, block in enumerate(self.blocks_in_order()):
            checkpointing = self.gradient_checkpointing and training
            run = block.recomputed if checkpointing else block
            arguments = {"layout": layout, "training": training, **shared}
            if not block.attention.reads_relative_table:
                arguments.pop("relative_embeddings", None)
            output = run(x, return_weights=self.attentions, **arguments)
            x, weights = output if self.attentions else (output, None)
            if i == 0 and self.convolution is not None:
                x = self._convolve(states[0], x, layout, training)
            states.append(x)
            maps.append(weights)
        if self.final_norm is not None:
            states[-1] = self.final_norm(x)
        return states, maps

    def _shared_arguments(self, layout) -> dict[str, Any]:
        """Computes the inputs that all blocks share, which have weights."""
        shared: dict[str, Any] = {}
        if self.relative_table is not None:
            shared["relative_embeddings"] = self.relative_table.rows()
        if self.relative_bias is not None:
            shared["biases"] = self.relative_bias.biases(layout.lengths)
        return shared

    def _convolve(self, x, output, layout, training):
        """Applies the convolution, which needs padded rows for a token's neighbours."""
        x, output = layout.with_padding(x), layout.with_padding(output)
        x = self.convolution(x, output, padding_mask=layout.mask, training=training)
        return layout.without_padding(x)

    def compute_output_spec(
        self, x, padding_mask=None, sequence_ids=None, training=None
    ):
        mask = padding_mask_of(x, padding_mask)
        self._check_inputs(x, mask, sequence_ids)
        if self.built:
            check_width(x, self.width)
        if self.projection is not None:
            x = keras.KerasTensor(self.projection.compute_output_shape(x.shape))
        blocks = self.blocks_in_order()
        specs = [y.compute_output_spec(x, return_weights=True) for y in blocks]
        # Distinct tensors: Keras tells outputs apart by object.
        states = [blocks[0].compute_output_spec(x), *(output for output, _ in specs)]
        maps = [weights for _, weights in specs]
        return self._named(blocks[-1].compute_output_spec(x), states, maps, mask)

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
        if self.projection is not None:
            x_shape = self.projection.compute_output_shape(x_shape)
        batch, length, _ = x_shape
        maps = [
            (batch, block.attention.num_heads, length, length)
            for block in self.blocks_in_order()
        ]
        states = [tuple(x_shape) for _ in range(self.num_layers + 1)]
        return self._named(tuple(x_shape), states, maps)

    def with_outputs(self, hidden_states: bool, attentions: bool) -> "Encoder":
        """Returns a layer that shares all sublayers and has other outputs."""
        return type(self)(
            **{**self.get_config(), "dtype": self.dtype_policy}
            | {"hidden_states": hidden_states, "attentions": attentions}
            | {name: getattr(self, name) for name in ("blocks", *self.PARTS)}
        )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "blocks": [config_of_part(block) for block in self.blocks],
            **{name: config_of_part(getattr(self, name)) for name in self.PARTS},
            **{name: getattr(self, name) for name in self.OPTIONS},
            "config": None if self.config is None else self.config.to_dict(),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Encoder":
        if config.get("config") is not None:
            # Perhaps out of a file, which says nothing of how much is stored in it.
            check_sizes(encoder_config(config["config"]))
            if "blocks" not in config:
                raise ValueError(
                    "`blocks` must be given with `config`: the file was saved by a "
                    "version before 0.1.0. Make the model again. Received: None"
                )
        return super().from_config(config)


def _checked_blocks(blocks: Any, **sizes: Any) -> list[EncoderBlock]:
    for name, value in sizes.items():
        if value is not None:
            raise ValueError(f"`{name}` must be None with `blocks`. Received: {value}")
    if not isinstance(blocks, (list, tuple)) or not blocks:
        raise TypeError(
            f"`blocks` must be a list of `EncoderBlock`s. Received: {blocks!r}"
        )
    if len(blocks) > MOST_LAYERS:
        raise ValueError(
            f"`blocks` must be at most {MOST_LAYERS}. Received: {len(blocks)}"
        )
    for i, block in enumerate(blocks):
        if not isinstance(block, (EncoderBlock, dict)):
            raise TypeError(
                f"`blocks[{i}]` must be an `EncoderBlock`. Received: {block!r}"
            )
    blocks = [part_of(block, EncoderBlock, "blocks") for block in blocks]
    for what, keys in {
        "be different layers (`num_layers` lets several share one)": blocks,
        "have names of their own": [x.name for x in blocks],
        "have an attention and a feed-forward network of their own": [
            y for x in blocks for y in (x.attention, x.feed_forward)
        ],
    }.items():
        if len({x if isinstance(x, str) else id(x) for x in keys}) < len(keys):
            raise ValueError(f"`blocks` must {what}. Received: {blocks!r}")
    return blocks

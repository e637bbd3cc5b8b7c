"""The stack of encoder blocks."""

from typing import Any

import keras
from keras import ops, tree

from keras_bert_lite.config import (
    FAMILIES,
    RelativePositions,
    check_choice,
    check_groups,
    check_not_negative,
    check_positive,
    relative_positions_dict,
    relative_positions_of,
)
from keras_bert_lite.layers.base import CompositeLayer
from keras_bert_lite.layers.encoder_block import EncoderBlock
from keras_bert_lite.layers.relative_table import RelativeTable
from keras_bert_lite.layers.token_convolution import TokenConvolution
from keras_bert_lite.layers.unpadding import RealTokens, compiles_with_xla


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Encoder(CompositeLayer):
    """A stack of encoder blocks.

    Args:
        num_layers: Number of blocks (L).
        num_heads, hidden_dim, intermediate_dim, dropout, attention_dropout,
        activation, layer_norm_epsilon, initializer_range, relative_positions:
            See `EncoderBlock`.
        num_groups: How many blocks there are; layers in a row share one (as
            ALBERT: 1). `None`: L blocks, run once each.
        convolution_size, convolution_groups, convolution_activation: See
            `TokenConvolution`, which runs beside the first block if the size
            is not 0.
        family: See `EncoderConfig`.
        hidden_states: Whether to return the input and every block's output.
        attentions: Whether to return every block's attention weights.
        remove_padding: Whether to compute on the real tokens only. The values
            are the same; it needs TensorFlow without XLA. `"auto"`: wherever
            that is so, SavedModels included. Rows stay padded with
            `attentions` or `sequence_ids`.
        gradient_checkpointing: Whether training keeps of each block only the
            output, and computes the rest again for the gradients.
        layers: Another `Encoder` whose layers to share; see `with_outputs`.

    Call arguments:
        x, padding_mask, sequence_ids: See `SelfAttention`.

    Output shape:
        A dictionary: `sequence_output` `(B, S, H)`; on request `hidden_states`,
        a list of L + 1 of `(B, S, H)`, the input first; and `attentions`, a
        list of L of `(B, N, S, S)`. Vectors at padding are zeros.
    """

    def __init__(
        self,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        intermediate_dim: int,
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        activation: str = "gelu",
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        num_groups: int | None = None,
        relative_positions: RelativePositions | dict[str, Any] | None = None,
        convolution_size: int = 0,
        convolution_groups: int = 1,
        convolution_activation: str = "tanh",
        family: str = "bert",
        hidden_states: bool = False,
        attentions: bool = False,
        remove_padding: bool | str = "auto",
        gradient_checkpointing: bool = False,
        layers: "Encoder | None" = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive("num_layers", num_layers)
        check_groups(num_layers, num_groups)
        check_not_negative("convolution_size", convolution_size)
        check_choice("family", family, tuple(FAMILIES))
        self.num_layers = num_layers
        self.num_groups = num_groups
        self.family = family
        self.hidden_states = hidden_states
        self.attentions = attentions
        self.remove_padding = remove_padding
        self.gradient_checkpointing = gradient_checkpointing
        relative = relative_positions_of(relative_positions)
        self._block_config: dict[str, Any] = {
            "num_heads": num_heads,
            "hidden_dim": hidden_dim,
            "intermediate_dim": intermediate_dim,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "activation": activation,
            "layer_norm_epsilon": layer_norm_epsilon,
            "initializer_range": initializer_range,
            "relative_positions": relative_positions_dict(relative),
        }
        self._convolution_config: dict[str, Any] = {
            "convolution_size": convolution_size,
            "convolution_groups": convolution_groups,
            "convolution_activation": convolution_activation,
        }
        self.blocks: list[EncoderBlock] = (
            layers.blocks if layers else self._make_blocks()
        )
        self.relative_table: RelativeTable | None = None
        if relative is not None:
            self.relative_table = (
                layers.relative_table if layers else self._make_table(relative)
            )
        self.convolution: Any = None
        if convolution_size:
            self.convolution = (
                layers.convolution if layers else self._make_convolution()
            )

    def _make_blocks(self) -> list[EncoderBlock]:
        count = self.num_groups or self.num_layers
        return [
            EncoderBlock(
                **self._block_config, dtype=self.dtype_policy, name=f"block_{i}"
            )
            for i in range(count)
        ]

    def _make_table(self, relative: RelativePositions) -> RelativeTable:
        config = self._block_config
        return RelativeTable(
            2 * relative.span,
            config["hidden_dim"],
            normalize=relative.normalize,
            layer_norm_epsilon=config["layer_norm_epsilon"],
            initializer_range=config["initializer_range"],
            dtype=self.dtype_policy,
            name="relative_table",
        )

    def _make_convolution(self) -> TokenConvolution:
        config, convolution = self._block_config, self._convolution_config
        return TokenConvolution(
            config["hidden_dim"],
            kernel_size=convolution["convolution_size"],
            groups=convolution["convolution_groups"],
            activation=convolution["convolution_activation"],
            dropout=config["dropout"],
            layer_norm_epsilon=config["layer_norm_epsilon"],
            initializer_range=config["initializer_range"],
            dtype=self.dtype_policy,
            name="convolution",
        )

    def build(self, x_shape, padding_mask_shape=None, sequence_ids_shape=None):
        for layer in self._sublayers():
            if not layer.built:  # they may be shared; see `with_outputs`
                layer.build(x_shape)

    def _sublayers(self) -> list[keras.layers.Layer]:
        layers = (*self.blocks, self.relative_table, self.convolution)
        return [layer for layer in layers if layer is not None]

    @property
    def remove_padding(self) -> bool | str:
        return self._remove_padding

    @remove_padding.setter
    def remove_padding(self, choice: bool | str) -> None:
        check_choice("remove_padding", choice, (True, False, "auto"))
        tensorflow = keras.backend.backend() == "tensorflow"
        if choice != "auto" and choice and not tensorflow:
            raise NotImplementedError(
                "`remove_padding=True` needs the TensorFlow backend: the number of "
                "real tokens changes from batch to batch, and "
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
        if self.remove_padding == "auto":
            return keras.backend.backend() == "tensorflow" and not compiles_with_xla()
        return bool(self.remove_padding)

    def call(self, x, padding_mask=None, sequence_ids=None, training=None):
        if self._removes_padding(padding_mask, sequence_ids):
            mask = ops.cast(padding_mask, "bool")
            rows = RealTokens(mask, self._block_config["num_heads"], training)
            outputs = self._run(rows.pack(x), rows=rows, training=training)
            return tree.map_structure(rows.unpack, outputs)
        masks = {"padding_mask": padding_mask, "sequence_ids": sequence_ids}
        outputs = self._run(x, **masks, training=training)
        if padding_mask is None:
            return outputs
        real = ops.cast(padding_mask, "bool")[:, :, None]
        for name in {"sequence_output", "hidden_states"} & set(outputs):
            outputs[name] = tree.map_structure(
                lambda x: ops.where(real, x, ops.zeros_like(x)), outputs[name]
            )
        return outputs

    def _run(self, x, **arguments) -> dict[str, Any]:
        states, maps = [x], []
        layers_per_block = self.num_layers // len(self.blocks)
        if self.relative_table is not None:
            arguments["relative_embeddings"] = self.relative_table.rows()
        for i in range(self.num_layers):
            block = self.blocks[i // layers_per_block]
            checkpointing = self.gradient_checkpointing and arguments["training"]
            run = block.recomputed if checkpointing else block
            output = run(x, return_weights=self.attentions, **arguments)
            x, weights = output if self.attentions else (output, None)
            if i == 0 and self.convolution is not None:
                x = self._convolved(states[0], x, **arguments)
            states.append(x)
            maps.append(weights)
        return self._named(x, states, maps)

    def _convolved(
        self, x, output, rows=None, padding_mask=None, training=None, **arguments
    ):
        """Adds the convolution, which needs the neighbours of a token in a row."""
        if rows is not None:
            x, output, padding_mask = rows.unpack(x), rows.unpack(output), rows.mask
        x = self.convolution(x, output, padding_mask=padding_mask, training=training)
        return x if rows is None else rows.pack(x)

    def compute_output_spec(
        self, x, padding_mask=None, sequence_ids=None, training=None
    ):
        spec = self.blocks[0].compute_output_spec
        specs = [spec(x, return_weights=True) for _ in range(self.num_layers + 1)]
        states = [output for output, _ in specs]
        return self._named(spec(x), states, [weights for _, weights in specs[1:]])

    def _named(self, sequence_output, states, maps) -> dict[str, Any]:
        outputs = {"sequence_output": sequence_output}
        if self.hidden_states:
            outputs["hidden_states"] = states
        if self.attentions:
            outputs["attentions"] = maps
        return outputs

    def compute_output_shape(
        self, x_shape, padding_mask_shape=None, sequence_ids_shape=None
    ):
        batch, length, _ = x_shape
        weights = (batch, self._block_config["num_heads"], length, length)
        states = [tuple(x_shape) for _ in range(self.num_layers + 1)]
        return self._named(tuple(x_shape), states, [weights] * self.num_layers)

    def with_outputs(self, hidden_states: bool, attentions: bool) -> "Encoder":
        """Returns a layer of the same sublayers, hence weights, with other outputs."""
        outputs = {"hidden_states": hidden_states, "attentions": attentions}
        config = {**self.get_config(), **outputs, "dtype": self.dtype_policy}
        config.pop("frozen", None)  # the sublayers know it
        return Encoder(**config, layers=self)

    def get_config(self) -> dict[str, Any]:
        frozen = [x.name for x in self._sublayers() if not x.trainable]
        return {
            **super().get_config(),
            **({"frozen": frozen} if frozen and self.trainable else {}),
            "num_layers": self.num_layers,
            **self._block_config,
            **self._convolution_config,
            "num_groups": self.num_groups,
            "family": self.family,
            "hidden_states": self.hidden_states,
            "attentions": self.attentions,
            "remove_padding": self.remove_padding,
            "gradient_checkpointing": self.gradient_checkpointing,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Encoder":
        config = dict(config)
        if config.pop("share_layers", False):  # written before `num_groups`
            config["num_groups"] = 1
        frozen = config.pop("frozen", ())
        layer = super().from_config(config)
        for sublayer in layer._sublayers():
            if sublayer.name in frozen:
                sublayer.trainable = False
        return layer

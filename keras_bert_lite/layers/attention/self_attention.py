"""Bidirectional multi-head self-attention."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_key_value_heads, check_positive
from keras_bert_lite.compiled import discard_compiled
from keras_bert_lite.layers.attention import compute
from keras_bert_lite.layers.attention.projections import project, project_joined
from keras_bert_lite.layers.attention.rotary import RotaryPositions, rotate
from keras_bert_lite.layers.base import (
    EncoderPart,
    bias_names,
    check_divides,
    check_rows,
    check_states,
    check_width,
    padding_mask_of,
    with_mask,
)
from keras_bert_lite.layers.execution.padded_rows import PaddedRows
from keras_bert_lite.layers.execution.reads import Reads

PROJECTIONS = ("query", "key", "value", "output")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class SelfAttention(EncoderPart):
    """Bidirectional multi-head self-attention over the real positions.

    `softmax(Q K^T / sqrt(D)) V` in each of N heads of size D = H / N, where Q, K and V
    are dense projections of the input. A last projection joins the heads. The softmax
    runs in float32.

    Args:
        num_heads: Number of heads (N); must divide the width of the input (H).
        num_key_value_heads: Number of heads of keys and values, each shared by as many
            consecutive heads of queries; must divide `num_heads`. `None`: every head
            has its own.
        window: The attention window: tokens attend to positions that are at most
            `window // 2` away. `None`: to all positions.
        rotary: `RotaryPositions`, by which Q and K are rotated, or their fields in a
            dictionary. `None`: no rotation.
        dropout: Dropout rate of the attention weights.
        use_bias: Whether the projections have a bias, or a list of those of `"query"`,
            `"key"`, `"value"` and `"output"` that have one.
        initializer_range: Standard deviation of the initial weights.
        implementation: What computes attention: `"auto"`, `"plain"`, `"fused"` (JAX and
            XLA) or `"kernel"` (TPUs under JAX); see `set_fused_attention` for the last.
            They compute the same. Under other backends than JAX all are `"plain"`.

    Call arguments:
        x: Floats of shape `(B, S, H)`.
        padding_mask: Booleans of shape `(B, S)`, true at real positions. Padding is
            not attended to. `None`: the Keras mask of `x`; without one, all positions
            are real.
        sequence_ids: Integers of shape `(B, S)`: positions attend only to
            positions with the same number (a block-diagonal mask, for several
            sequences packed in a row).
        biases: Floats to add to the scores, of a shape that broadcasts to
            `(B, N, S, S)`, such as the output of `RelativeBiasTable`.
        return_weights: Whether to return the attention weights too.
        layout: For the blocks of an `Encoder`: the layout that it made of the batch,
            instead of the masks. `x` is then `(T, H)` if padding is left out, and
            `biases` are a list of one array for each group of rows.

    Output shape:
        `(B, S, H)`; with `return_weights`, also the weights, `(B, N, S, S)`:
        for each query position (rows), one weight for each key position. The
        `padding_mask` is the Keras mask of the output, whose values at padding mean
        nothing.

    Raises:
        ValueError: If `x` has another rank, a width that heads do not divide, or a mask
            another shape.

    Example:

    >>> layer = SelfAttention(num_heads=4)
    >>> layer(keras.ops.ones((2, 5, 64))).shape
    TensorShape([2, 5, 64])

    Reference: [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.2.
    """

    LAYERS: tuple[str, ...] = ("query", "key", "value", "output_dense")

    def __init__(
        self,
        num_heads: int,
        num_key_value_heads: int | None = None,
        window: int | None = None,
        rotary: RotaryPositions | dict[str, float] | None = None,
        dropout: float = 0.1,
        use_bias: bool | list[str] = True,
        initializer_range: float = 0.02,
        implementation: str = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(initializer_range=initializer_range, **kwargs)
        check_positive("num_heads", num_heads)
        shared = num_heads if num_key_value_heads is None else num_key_value_heads
        check_key_value_heads(shared, num_heads)
        if window is not None:
            check_positive("window", window)
        self.num_heads = num_heads
        self.num_key_value_heads = shared
        self.window = window
        self.rotary = _rotary(rotary)
        self.use_bias = bias_names(use_bias, PROJECTIONS)
        self.dropout = self._dropout(dropout)
        self.implementation = implementation
        # As wide as the input, so made in `build`.
        self.query: Any = None
        self.key: Any = None
        self.value: Any = None
        self.output_dense: Any = None

    @property
    def implementation(self) -> str:
        return self._implementation

    @implementation.setter
    def implementation(self, name: str) -> None:
        compute.check_implementation(name)
        changes = getattr(self, "_implementation", name) != name
        self._implementation = name
        if changes:
            discard_compiled(self)

    def build(self, x_shape, padding_mask_shape=None, sequence_ids_shape=None, **_):
        check_states(x_shape)
        width = x_shape[-1]
        check_divides("num_heads", self.num_heads, x_shape)
        head_dim = width // self.num_heads
        if self.rotary is not None and head_dim % 2:
            raise ValueError(
                "`rotary` needs heads of an even size. Received: "
                f"num_heads={self.num_heads}, and `x` of shape {tuple(x_shape)}"
            )
        self.head_dim = head_dim
        narrow = head_dim * self.num_key_value_heads
        for name, units in {"query": width, "key": narrow, "value": narrow}.items():
            self._add_dense(name, units, name in self.use_bias, x_shape)
        self._add_dense("output_dense", width, "output" in self.use_bias, x_shape)
        self.dropout.build((x_shape[0], self.num_heads, x_shape[1], x_shape[1]))

    @property
    def reads(self) -> Reads:
        """What the layer reads from the layout of a batch."""
        return Reads(self.num_heads, self.head_dim, self.window, self.rotary)

    @property
    def scale(self) -> float:
        """The factor of the products of queries and keys."""
        return self.head_dim**-0.5

    @property
    def has_relative_terms(self) -> bool:
        """Whether its scores have terms that depend on relative positions."""
        return False

    @property
    def reads_relative_table(self) -> bool:
        """Whether calls must be given the rows of a `RelativeTable`."""
        return False

    def call(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        biases=None,
        return_weights=False,
        layout=None,
        training=None,
    ):
        if layout is not None:
            return self._attend(x, layout, biases, return_weights, training)
        whole = return_weights or biases is not None or self.has_relative_terms
        self._check_biases(x, biases)
        layout = self._own_layout(x, padding_mask, sequence_ids, whole)
        biases = None if biases is None else [biases]
        outputs = self._attend(x, layout, biases, return_weights, training)
        return with_mask(outputs, layout.mask)

    def _check_biases(self, x, biases) -> None:
        if biases is None:
            return
        batch, length, _ = x.shape
        scores = (batch, self.num_heads, length, length)
        sizes = zip(reversed(biases.shape), reversed(scores), strict=False)
        fits = all(a in (1, b) or None in (a, b) for a, b in sizes)
        if len(biases.shape) > 4 or not fits:
            raise ValueError(
                f"`biases` must broadcast to the scores, of shape {scores}. "
                f"Received: the shape {tuple(biases.shape)}"
            )

    def _own_layout(self, x, padding_mask, sequence_ids, whole) -> PaddedRows:
        check_states(x.shape)
        check_width(x, self.num_heads * self.head_dim)
        shape = ops.shape(x)[:2]
        mask = padding_mask_of(x, padding_mask)
        check_rows(x, padding_mask=mask, sequence_ids=sequence_ids)
        return PaddedRows([self.reads], shape, mask, sequence_ids, whole)

    def _attend(self, x, layout, biases, return_weights, training, terms=None):
        """Projects, rotates, computes attention, and joins the heads."""
        query, key, value = self.project(x)
        if self.rotary is not None:
            rotation = layout.rotations[self.reads.rotation]
            query, key = rotate(query, rotation), rotate(key, rotation)
        dropout = self.dropout if training and self.dropout.rate > 0 else None
        options = {"scale": self.scale, "dropout": dropout, "terms": terms}
        if return_weights:
            (whole,) = layout.whole(query, key, value, self.window, biases)
            attended, weights = compute.weigh(*whole, **options)
            return self.join(layout.join(attended)), weights
        attended = compute.attend(
            query,
            key,
            value,
            layout,
            self.window,
            biases,
            **options,
            query_kernel=getattr(self.query, "kernel", None),
            implementation=self.implementation,
        )
        return self.join(attended)

    def project(self, x) -> tuple[Any, Any, Any]:
        """Projects to queries, keys and values, `(..., N, D)` each."""
        layers = (self.query, self.key, self.value)
        if keras.backend.backend() == "jax" and _are_plain(*layers):
            kernels = [self._repeated(dense.kernel) for dense in layers]
            heads = project(x, kernels, self.num_heads)
            biases = [
                None
                if dense.bias is None
                else self.split_heads(self._repeated(dense.bias))
                for dense in layers
            ]
            return tuple(
                y if bias is None else y + bias
                for y, bias in zip(heads, biases, strict=True)
            )
        return tuple(self.split_heads(self._repeated(dense(x))) for dense in layers)

    def join(self, attended):
        """Projects from the heads: (..., N D) -> (..., H)."""
        dense = self.output_dense
        if keras.backend.backend() != "jax" or not _are_plain(dense):
            return dense(attended)
        output = project_joined(self.split_heads(attended), dense.kernel)
        return output if dense.bias is None else output + dense.bias

    def split_heads(self, x):
        """(..., N D) -> (..., N, D)."""
        return ops.reshape(x, (*ops.shape(x)[:-1], self.num_heads, self.head_dim))

    def _repeated(self, x):
        """Repeats shared heads of keys or values for each head of queries: (..., H)."""
        width = self.num_heads * self.head_dim
        if x.shape[-1] == width:
            return x
        shared, others = x.shape[-1] // self.head_dim, ops.shape(x)[:-1]
        heads = ops.reshape(x, (*others, shared, self.head_dim))
        heads = ops.repeat(heads, self.num_heads // shared, axis=-2)
        return ops.reshape(heads, (*others, width))

    def compute_output_spec(self, x, padding_mask=None, *_, return_weights=False, **__):
        mask = padding_mask_of(x, padding_mask)
        check_states(x.shape)
        check_rows(x, padding_mask=mask)
        if self.built:
            check_width(x, self.num_heads * self.head_dim)
        output = keras.KerasTensor(x.shape, dtype=self.compute_dtype)
        outputs = output
        if return_weights:
            batch, length, _ = x.shape
            shape = (batch, self.num_heads, length, length)
            outputs = output, keras.KerasTensor(shape, dtype=self.compute_dtype)
        return with_mask(outputs, mask)

    def compute_mask(self, x, previous_mask):
        """Returns `None`: `call` sets the mask, which `padding_mask` determines."""
        return None

    def compute_output_shape(self, x_shape, *_, **__):
        return x_shape

    def get_config(self) -> dict[str, Any]:
        rotary = None if self.rotary is None else dataclasses.asdict(self.rotary)
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "num_key_value_heads": self.num_key_value_heads,
            "window": self.window,
            "rotary": rotary,
            "dropout": self.dropout.rate,
            "use_bias": self.use_bias,
            "implementation": self.implementation,
        }


def _rotary(value: Any) -> RotaryPositions | None:
    fields = {x.name for x in dataclasses.fields(RotaryPositions)}
    if isinstance(value, dict) and set(value) <= fields:
        return RotaryPositions(**value)
    if value is not None and not isinstance(value, RotaryPositions):
        raise TypeError(
            "`rotary` must be `RotaryPositions`, a dictionary of their fields "
            f"({', '.join(sorted(fields))}), or None. Received: {value!r}"
        )
    return value


def _are_plain(*layers: keras.layers.Dense) -> bool:
    """Whether dense layers multiply by kernels, not by quantized ones."""
    return all(x.quantization_mode is None for x in layers)

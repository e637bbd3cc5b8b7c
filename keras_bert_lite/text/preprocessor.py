"""Converts texts, or pairs of texts, to the inputs of an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice
from keras_bert_lite.layer_config import layer_from_config
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.inputs import (
    CANDIDATES,
    PROMPT,
    aligned,
    as_batch,
    named_texts,
    without_prompt_name,
)
from keras_bert_lite.text.ragged import rows_of
from keras_bert_lite.text.strings import as_strings
from keras_bert_lite.text.text_layer import TextLayer
from keras_bert_lite.text.truncation import head, truncate_longest_first
from keras_bert_lite.text.windows import Windows, cut

MIN_SEQUENCE_LENGTH = 3  # [CLS] and two [SEP]
DEFAULT_STRIDE = 128
ID_DTYPES = {"token_ids": "int32", "segment_ids": "int32", "padding_mask": "bool"}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Preprocessor(TextLayer):
    """Converts texts, or pairs of texts, to `token_ids`, `segment_ids` and
    `padding_mask`.

    A text becomes `[CLS] text [SEP]`, a pair `[CLS] text [SEP] text_pair [SEP]`
    with segment 1 from the second text on. RoBERTa puts two separators between
    the texts and everything in segment 0. Rows longer than `sequence_length` are
    truncated from the end of the longer text first; special tokens are kept.

    Args:
        tokenizer: A tokenizer layer, such as `WordPieceTokenizer`.
        sequence_length: The maximum number of tokens in a row, special tokens
            included. `None` never truncates.
        padding: `"longest"` pads to the longest row of the batch;
            `"max_length"` pads to `sequence_length`, as TPUs need. An increasing
            list of lengths that ends with `sequence_length` pads to the first
            one that fits the batch. This suits GPUs and JAX, where each new
            length is compiled again.
        num_separators: How many separators to put between two texts: 1, or 2 as
            in RoBERTa and XLM-R.
        stride: Splits a text that is too long into windows instead of truncating
            it. Each window shares `stride` tokens with the one before, at most
            half of a window (Hugging Face's stride; BERT's `doc_stride` is the
            step instead). Of two texts, the second is split. The first precedes
            each window, truncated to half of the room if longer. With `None`, a
            call truncates; tasks that must read every token (question answering,
            token classification) use a stride of 128.
        prompts: Texts by name, such as `{"query": "query: "}`, as
            sentence-transformers stores them with a model.
        default_prompt_name: The name of the prompt that every text begins with (of a
            pair that shares a row, the first) unless a call names another; `None` for
            none. Layers that locate tokens in the text, such as `TextWindows`, read it
            without a prompt.

    Call arguments:
        inputs: A string or a batch of strings, `(B,)`, or a batch of lists of C
            strings, `(B, C)`; for pairs a tuple `(text, text_pair)` of them (a
            list is a batch, a tuple is a pair) or a dictionary with the keys
            `text` and `text_pair`. A `text` of shape `(B,)` may be paired with
            choices, a `text_pair` of shape `(B, C)`, or with `candidates` of that
            shape: rows of an empty candidate have no real tokens. The key
            `prompt_name` holds the names of the prompts that the texts begin with, one
            for all or in the shape of `text`; an empty name stands for the default.

    Output shape:
        A dictionary of `token_ids` and `segment_ids` (int32) and
        `padding_mask` (bool, true at real tokens). They have the shape of the
        texts and one more axis: `(S,)`, `(B, S)` or `(B, C, S)`. A `stride` adds
        an axis of W windows before the last, `(B, W, S)`; rows with fewer windows
        are filled up with windows of padding.

    Raises:
        ValueError: If the texts have rank 3 or more, or `text` and `text_pair`
            differ in number, or there is no prompt of a name. (In a graph, that is an
            `InvalidArgumentError`.)
        TypeError: If the texts are not strings.

    Example:

    >>> tokenizer = kbl.load_tokenizer("bert_mini_books")
    >>> preprocessor = kbl.Preprocessor(tokenizer, sequence_length=128)
    >>> preprocessor(["a day", "fine"])["token_ids"].shape
    TensorShape([2, 4])

    Reference: `BertTokenizerFast` and `RobertaTokenizerFast`, with
    `truncation="longest_first"`.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        sequence_length: int | None = None,
        padding: str | Sequence[int] = "longest",
        num_separators: int = 1,
        stride: int | None = None,
        prompts: Mapping[str, str] | None = None,
        default_prompt_name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(tokenizer, Tokenizer):
            raise TypeError(
                "`tokenizer` must be a tokenizer layer, such as "
                f"`WordPieceTokenizer`. Received: {tokenizer!r}"
            )
        check_choice("num_separators", num_separators, (1, 2))
        _check_length(sequence_length, MIN_SEQUENCE_LENGTH - 1 + num_separators)
        _check_padding(padding, sequence_length)
        _check_stride(stride, sequence_length)
        _check_prompts(prompts, default_prompt_name)
        self.tokenizer = tokenizer
        self.sequence_length = sequence_length
        self.padding = padding if isinstance(padding, str) else list(padding)
        self.num_separators = num_separators
        self.stride = stride
        self.prompts = dict(prompts or {})
        self.default_prompt_name = default_prompt_name

    def call(self, inputs: Any) -> dict[str, tf.Tensor]:
        return without_empty(self.rows(*self.segments(inputs)), inputs)

    def segments(self, inputs: Any) -> tuple[list[tf.RaggedTensor], tf.Tensor]:
        """Tokenizes the texts of a call; returns the arguments of `rows`."""
        inputs, names = without_prompt_name(inputs)
        shape, texts = aligned(named_texts(inputs))
        if names is not None:
            names = as_strings(names, PROMPT)
            names = tf.reshape(tf.broadcast_to(names, shape), [-1])
            texts[0] = tf.strings.join([self._prompt_texts(names), texts[0]])
        elif self.prompt:
            texts[0] = tf.strings.join([self.prompt, texts[0]])
        return [self.tokenizer.ids_of(text) for text in texts], shape

    def truncates(self, segments: list[tf.RaggedTensor]) -> tf.Tensor:
        """Returns which rows lose tokens in `rows`, booleans `(B,)`."""
        *before, last = (x.row_lengths() for x in segments)
        if self.sequence_length is None:
            return tf.zeros_like(last, tf.bool)
        room = self._room(segments, self.sequence_length)
        if self.stride is None:
            return sum(before, last) > room
        # Windows read all of the last segment, behind half a row of the one before.
        return sum(before, tf.zeros_like(last)) > room // 2

    def rows(
        self, segments: list[tf.RaggedTensor], shape: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Assembles the rows of texts that are ids already.

        Args:
            segments: One or two segments, ragged ids `(B, None)`.
            shape: The shape of the texts, of B in all.

        Returns:
            The outputs of a call.
        """
        if self.stride is None:
            outputs = self._assemble(segments, self.sequence_length)
            return {k: _rows(x, shape, self.widest) for k, x in outputs.items()}
        windows, _, outputs = self.windows(segments)
        pad = {"token_ids": self.tokenizer.pad_id, "segment_ids": 0}
        return {
            k: _rows(windows.by_row(x, pad.get(k, False)), shape, self.widest)
            for k, x in outputs.items()
        }

    def windows(
        self, segments: list[tf.RaggedTensor]
    ) -> tuple[Windows, tf.Tensor, dict[str, tf.Tensor]]:
        """Cuts the last of one or two segments into windows, one row for each.

        The first of two segments precedes each window and gets at most half of
        the room. Windows share `stride` tokens (`None` means 128), but at most
        half of a window, so that each one advances.

        Args:
            segments: Ids from a tokenizer, ragged int32 `(B, None)`.

        Returns:
            The windows; the column of each of their M tokens in its row; and the
            outputs of a call, with a row for each window.
        """
        *before, content = segments
        if self.sequence_length is None:
            room = tf.maximum(content.row_lengths(), 1)
        else:
            room = self._room(segments, self.sequence_length)
            before = [head(x, room // 2) for x in before]
            room = room - sum(x.row_lengths() for x in before)
            room = tf.broadcast_to(room, tf.shape(content.row_lengths()))
        stride = DEFAULT_STRIDE if self.stride is None else self.stride
        windows = cut(content.row_lengths(), room, stride)
        parts = [tf.gather(x, windows.rows) for x in before]
        pieces = tf.RaggedTensor.from_row_lengths(
            tf.gather(content.values, windows.tokens), windows.lengths, validate=False
        )
        outputs = self._assemble([*parts, pieces], None)
        # A row ends with its window and one separator.
        ends = tf.math.count_nonzero(outputs["padding_mask"], axis=1)
        columns = tf.gather(ends - windows.lengths - 1, windows.windows)
        return windows, windows.positions + columns, outputs

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        inputs, prompts = without_prompt_name(inputs)
        named = named_texts(inputs)
        strings = named if prompts is None else {**named, PROMPT: prompts}
        for name, x in strings.items():
            if x.dtype != "string" or len(x.shape) not in (1, 2):
                raise ValueError(
                    f"`{name}` must be strings of shape (batch,), or (batch, choices). "
                    f"Received: {x.dtype} of shape {x.shape}"
                )
        shape = list(named.values())[-1].shape
        windows = () if self.stride is None else (None,)
        return {
            name: keras.KerasTensor(
                (*shape, *windows, self.widest), dtype=dtype, name=name
            )
            for name, dtype in ID_DTYPES.items()
        }

    @property
    def prompt(self) -> str:
        """The text that every text begins with."""
        name = self.default_prompt_name
        return "" if name is None else self.prompts[name]

    def prompt_for(self, names: Sequence[str]) -> str:
        """Returns the first of some names that is one of a prompt; else ""."""
        return next((x for x in names if x in self.prompts), "")

    def check_prompt_names(self, names: tf.Tensor) -> None:
        """Raises ValueError if there is no prompt of a name."""
        given = {x.decode() for x in names.numpy().flat}
        if unknown := sorted(given - {"", *self.prompts}):
            raise ValueError(
                f"`{PROMPT}` must be one of {[*self.prompts]}, or empty. "
                f"Received: {unknown}"
            )

    def _prompt_texts(self, names: tf.Tensor) -> tf.Tensor:
        """Returns the prompts of some names, `(N,)`."""
        known = tf.constant(["", *self.prompts])
        same = tf.equal(names[:, None], known)
        found = tf.reduce_all(tf.reduce_any(same, 1))
        if tf.executing_eagerly():
            self.check_prompt_names(names)
        message = f"`{PROMPT}` must be one of {[*self.prompts]}, or empty."
        with tf.control_dependencies([tf.debugging.Assert(found, [message])]):
            place = tf.argmax(tf.cast(same, tf.int32), 1)
        return tf.gather(tf.constant([self.prompt, *self.prompts.values()]), place)

    @property
    def prompt_length(self) -> int:
        """The number of tokens of `[CLS]` and the prompt; 0 without a prompt."""
        if not self.prompt:
            return 0
        return 1 + int(tf.size(self.tokenizer(self.prompt)))

    def check_without_prompt(self, what: str) -> None:
        """Raises ValueError if texts begin with a prompt.

        Args:
            what: What cannot read it, for the message.
        """
        if self.prompt:
            raise ValueError(
                f"`preprocessor` must have no default prompt for {what}: make it with "
                "`default_prompt_name=None`. "
                f"Received: default_prompt_name={self.default_prompt_name!r}"
            )

    @property
    def widest(self) -> int | None:
        """The width of all batches, if it is fixed."""
        return self.sequence_length if self.padding == "max_length" else None

    def assemble(
        self, segments: list[tf.RaggedTensor], sequence_length: int | tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Assembles rows of one or two segments, ragged ids `(B, None)`.

        Returns:
            The outputs of a call, `(B, S)` where S is `sequence_length`.
        """
        return self._assemble(segments, sequence_length, sequence_length)

    def _assemble(
        self,
        segments: list[tf.RaggedTensor],
        longest: int | tf.Tensor | None,
        width: int | tf.Tensor | None = None,
    ) -> dict[str, tf.Tensor]:
        if longest is not None:
            segments = truncate_longest_first(segments, self._room(segments, longest))
        special = self._num_special(segments)
        lengths = sum(x.row_lengths() for x in segments) + special
        width = self.width(lengths) if width is None else width
        columns = tf.range(width, dtype=tf.int64)
        mask = columns < lengths[:, None]
        ids = tf.where(mask, self.tokenizer.sep_id, self.tokenizer.pad_id)
        start = tf.ones([segments[0].nrows()], tf.int64)  # of the segment in each row
        segment_ids = tf.zeros_like(ids)
        for i, segment in enumerate(segments):
            ids = _placed(segment, start, ids)
            if i and self.num_separators == 1:
                behind = tf.logical_and(columns >= start[:, None], mask)
                segment_ids = tf.where(behind, i, segment_ids)
            start += segment.row_lengths() + self.num_separators
        cls = tf.fill([segments[0].nrows(), 1], self.tokenizer.cls_id)
        return {
            "token_ids": tf.concat([cls, ids[:, 1:]], 1),
            "segment_ids": segment_ids,
            "padding_mask": mask,
        }

    def _num_special(self, segments: list[tf.RaggedTensor]) -> int:
        """Returns the number of special tokens in a row of these segments."""
        return 2 + self.num_separators * (len(segments) - 1)

    def _room(
        self, segments: list[tf.RaggedTensor], longest: int | tf.Tensor
    ) -> tf.Tensor:
        """Returns the total number of tokens that the segments of a row may have."""
        return tf.cast(longest - self._num_special(segments), tf.int64)

    def width(self, lengths: tf.Tensor) -> int | tf.Tensor:
        """Returns the width of a batch of rows of these lengths."""
        if self.padding == "max_length":
            return self.sequence_length
        # An empty batch is as wide as an empty text: [CLS] [SEP].
        longest = tf.reduce_max(tf.concat([lengths, [2]], 0))
        if self.padding == "longest":
            return longest
        buckets = tf.constant(self.padding, lengths.dtype)
        return tf.reduce_min(tf.boolean_mask(buckets, buckets >= longest))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "tokenizer": keras.saving.serialize_keras_object(self.tokenizer),
            "sequence_length": self.sequence_length,
            "padding": self.padding,
            "num_separators": self.num_separators,
            "stride": self.stride,
            "prompts": dict(self.prompts),
            "default_prompt_name": self.default_prompt_name,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Preprocessor:
        tokenizer = layer_from_config(config["tokenizer"], Tokenizer, "`tokenizer`")
        return cls(**{**config, "tokenizer": tokenizer})


def without_empty(rows: dict[str, tf.Tensor], inputs: Any) -> dict[str, tf.Tensor]:
    """Leaves no real tokens in the rows of empty candidates, if there are candidates.

    Args:
        rows: The rows of `inputs`, `(B, C, S)` where these have candidates.
        inputs: The texts.
    """
    if not isinstance(inputs, dict) or CANDIDATES not in inputs:
        return rows
    candidates = as_batch(inputs[CANDIDATES], CANDIDATES, 2)
    real = tf.not_equal(candidates, "")[..., None]
    return {**rows, "padding_mask": tf.logical_and(rows["padding_mask"], real)}


def _rows(x: tf.Tensor, shape: tf.Tensor, width: int | None) -> tf.Tensor:
    """Reshapes flat rows to the shape of their texts."""
    rank = shape.shape[0]
    if rank != 1:
        x = tf.reshape(x, tf.concat([shape, tf.shape(x)[1:]], 0))
    x.set_shape([*[None] * (x.shape.rank - 1), width])
    return x


def _placed(segment: tf.RaggedTensor, start: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Writes a segment into rows `ids` (B, S), starting at column `start` (B,)."""
    row = rows_of(segment.row_splits)
    column = tf.range(tf.size(row, tf.int64)) - tf.gather(segment.row_starts(), row)
    position = tf.stack([row, column + tf.gather(start, row)], 1)
    return tf.tensor_scatter_nd_update(ids, position, segment.values)


def _check_length(length: int | None, least: int) -> None:
    if length is None or (isinstance(length, int) and length >= least):
        return
    raise ValueError(
        f"`sequence_length` must be a whole number of at least {least}, "
        f"or None. Received: {length!r}"
    )


def _check_stride(stride: int | None, length: int | None) -> None:
    if stride is None:
        return
    whole = isinstance(stride, int) and not isinstance(stride, bool)
    if not whole or stride < 0 or length is None or stride >= length:
        raise ValueError(
            "`stride` must be a whole number of tokens, at least 0 and below "
            f"`sequence_length`, or None. Received: {stride!r}, "
            f"sequence_length={length}"
        )


def _check_prompts(prompts: Any, default: Any) -> None:
    named = {} if prompts is None else prompts
    if not isinstance(named, Mapping) or not all(
        isinstance(x, str) for pair in named.items() for x in pair
    ):
        raise ValueError(
            f"`prompts` must map names to texts. Received: {prompts!r:.200}"
        )
    if default is not None and default not in named:
        raise ValueError(
            f"`default_prompt_name` must be one of {sorted(named)}, or None. "
            f"Received: {default!r}"
        )


def _check_padding(padding: Any, length: int | None) -> None:
    if padding == "longest" or (padding == "max_length" and length is not None):
        return
    if isinstance(padding, str) or not isinstance(padding, Sequence):
        raise ValueError(
            '`padding` must be "longest", "max_length" (with a `sequence_length`) '
            f"or a list of lengths. Received: {padding!r}, sequence_length={length}"
        )
    buckets = list(padding)
    if not buckets or buckets != sorted(set(buckets)) or buckets[-1] != length:
        raise ValueError(
            "`padding` must increase and end with `sequence_length`. "
            f"Received: {buckets}, sequence_length={length}"
        )

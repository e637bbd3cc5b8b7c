"""From one or two texts a row to the inputs of an encoder."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_bert_lite.config import check_choice
from keras_bert_lite.text.layer import TextLayer
from keras_bert_lite.text.strings import as_strings
from keras_bert_lite.text.tokenizer import Tokenizer

MIN_SEQUENCE_LENGTH = 3  # [CLS] and two [SEP]


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Preprocessor(TextLayer):
    """Turns texts, or pairs of texts, into `token_ids`, `segment_ids`,
    `padding_mask`.

    A text becomes `[CLS] text [SEP]`, a pair `[CLS] text [SEP] text_pair [SEP]`
    with segment 1 from the second text on; RoBERTa puts two separators between
    the texts, and all in segment 0. Rows over `sequence_length` lose
    tokens from the end of the longer text first, never a special token.

    Args:
        tokenizer: A tokenizer layer, such as `WordPieceTokenizer`.
        sequence_length: The most tokens a row may have, special tokens
            included. `None` never truncates.
        padding: `"longest"` pads to the longest row of the batch;
            `"max_length"` to `sequence_length`, as TPUs need; a list of
            lengths in rising order, the last equal to `sequence_length`, to
            the first of them that the batch fits in, as suits GPUs and JAX,
            where each new length compiles again.
        num_separators: How many separators stand between two texts: 1, or 2 as
            RoBERTa and XLM-R have it.

    Call arguments:
        inputs: A string or a batch of strings; for pairs a tuple
            `(text, text_pair)` of them (a list is a batch, a tuple is a pair)
            or a dictionary with the keys `text` and `text_pair`.

    Output shape:
        A dictionary of `token_ids` and `segment_ids` (int32) and
        `padding_mask` (bool, true at real tokens), `(B, S)` each, or `(S,)`
        for a single string.

    Raises:
        ValueError: If the texts have rank 2 or more, or a text and its pair
            differ in number.
        TypeError: If the texts are not strings.

    Example:

    >>> preprocessor = Preprocessor(tokenizer, sequence_length=128)
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
        self.tokenizer = tokenizer
        self.sequence_length = sequence_length
        self.padding = padding if isinstance(padding, str) else list(padding)
        self.num_separators = num_separators

    def call(self, inputs: Any) -> dict[str, tf.Tensor]:
        named = {k: as_strings(x, k) for k, x in named_texts(inputs).items()}
        ranks = {name: x.shape.rank for name, x in named.items()}
        if len(set(ranks.values())) > 1:
            raise ValueError(f"The texts must have the same rank. Received: {ranks}")
        texts = _same_size([_batched(x, name) for name, x in named.items()])
        single = ranks["text"] == 0
        segments = [self.tokenizer(text) for text in texts]
        outputs = self._pack(segments, self.sequence_length)
        return {k: v[0] for k, v in outputs.items()} if single else outputs

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        named = named_texts(inputs)
        for name, x in named.items():
            if x.dtype != "string" or len(x.shape) != 1:
                raise ValueError(
                    f"`{name}` must be strings of shape (batch,). "
                    f"Received: {x.dtype} of shape {x.shape}"
                )
        text = named["text"]
        length = self.sequence_length if self.padding == "max_length" else None
        dtypes = {"token_ids": "int32", "segment_ids": "int32", "padding_mask": "bool"}
        return {
            name: keras.KerasTensor((*text.shape, length), dtype=dtype, name=name)
            for name, dtype in dtypes.items()
        }

    def pack(
        self, segments: list[tf.RaggedTensor], sequence_length: int | tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Packs ids that a tokenizer made, one or two ragged int32 `(B, None)`.

        Returns:
            What a call returns, `sequence_length` (S) wide.
        """
        return self._pack(segments, sequence_length, sequence_length)

    def _pack(
        self,
        segments: list[tf.RaggedTensor],
        longest: int | tf.Tensor | None,
        width: int | tf.Tensor | None = None,
    ) -> dict[str, tf.Tensor]:
        between = (self.num_separators - 1) * (len(segments) - 1)
        if longest is not None:
            room = tf.cast(longest - 1 - len(segments) - between, tf.int64)
            segments = _truncate_longest_first(segments, room)
        lengths = sum(x.row_lengths() + 1 for x in segments) + 1 + between
        width = self._width(lengths) if width is None else width
        columns = tf.range(width, dtype=tf.int64)
        mask = columns < lengths[:, None]
        ids = tf.where(mask, self.tokenizer.sep_id, self.tokenizer.pad_id)
        start = tf.ones([segments[0].nrows()], tf.int64)  # of the segment, by row
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

    def _width(self, lengths: tf.Tensor) -> int | tf.Tensor:
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
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Preprocessor":
        tokenizer = keras.saving.deserialize_keras_object(config["tokenizer"])
        return cls(**{**config, "tokenizer": tokenizer})


def _placed(segment: tf.RaggedTensor, start: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Writes a segment into rows `ids` (B, S), from column `start` (B,) on."""
    row = segment.value_rowids()
    column = tf.range(tf.size(row, tf.int64)) - tf.gather(segment.row_starts(), row)
    place = tf.stack([row, column + tf.gather(start, row)], 1)
    return tf.tensor_scatter_nd_update(ids, place, segment.values)


def _check_length(length: int | None, least: int) -> None:
    if length is None or (isinstance(length, int) and length >= least):
        return
    raise ValueError(
        f"`sequence_length` must be at least {least}, a whole number, "
        f"or None. Received: {length!r}"
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
            "`padding` must rise to `sequence_length`. "
            f"Received: {buckets}, sequence_length={length}"
        )


def named_texts(inputs: Any) -> dict[str, Any]:
    """Returns `text` and, for pairs, `text_pair`, in this order."""
    if isinstance(inputs, dict):
        unknown = set(inputs) - {"text", "text_pair"}
        if unknown or "text" not in inputs:
            raise ValueError(
                "The inputs must be `text` and, for pairs, `text_pair`. "
                f"Received: {sorted(inputs)}"
            )
        return {name: inputs[name] for name in ("text", "text_pair") if name in inputs}
    if isinstance(inputs, tuple):
        if len(inputs) != 2:
            raise ValueError(
                "A tuple must be a pair `(text, text_pair)`; pass a batch as a list. "
                f"Received: a tuple of {len(inputs)}"
            )
        return {"text": inputs[0], "text_pair": inputs[1]}
    return {"text": inputs}


def as_batch(text: Any, name: str) -> tf.Tensor:
    """Returns a batch of strings, refusing a single one or a batch of batches."""
    strings = as_strings(text, name)
    if strings.shape.rank != 1:
        raise ValueError(
            f"`{name}` must be a batch of strings (rank 1). "
            f"Received: rank {strings.shape.rank}, shape {strings.shape}"
        )
    return strings


def _batched(text: Any, name: str) -> tf.Tensor:
    strings = as_strings(text, name)
    return strings[None] if strings.shape.rank == 0 else as_batch(strings, name)


def _same_size(texts: list[tf.Tensor]) -> list[tf.Tensor]:
    sizes = [text.shape[0] for text in texts]
    message = "`text` and `text_pair` must have the same number of strings."
    if None not in sizes and len(set(sizes)) > 1:
        raise ValueError(f"{message} Received: {sizes[0]} and {sizes[1]}")
    if len(texts) == 1 or None not in sizes:
        return texts
    same = tf.debugging.assert_equal(tf.size(texts[0]), tf.size(texts[1]), message)
    with tf.control_dependencies([same]):
        return [tf.identity(text) for text in texts]


def _truncate_longest_first(
    segments: list[tf.RaggedTensor], room: tf.Tensor
) -> list[tf.RaggedTensor]:
    """Shortens rows to `room` tokens, taking from the longer segment first.

    Where both must shrink they end up equal, the odd token going to the one
    that was longer (the second if they were equal), as in Hugging Face
    tokenizers' `truncate_encodings`.
    """
    if len(segments) == 1:
        return [_head(segments[0], room)]
    first, second = (segment.row_lengths() for segment in segments)
    half = room // 2
    rest = room - half
    longer_first = first > second
    first_room = tf.where(longer_first, rest, half)
    second_room = room - first_room
    # What one segment leaves unused, the other may take.
    return [
        _head(segments[0], tf.maximum(first_room, room - second)),
        _head(segments[1], tf.maximum(second_room, room - first)),
    ]


def _head(rows: tf.RaggedTensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    """Keeps the first `lengths` of each row."""
    kept = tf.minimum(rows.row_lengths(), lengths)
    owner = rows.value_rowids()
    place = tf.range(tf.size(owner, tf.int64)) - tf.gather(rows.row_starts(), owner)
    values = tf.boolean_mask(rows.values, place < tf.gather(kept, owner))
    return tf.RaggedTensor.from_row_lengths(values, kept, validate=False)

"""Model surgery: changes of vocabulary, positions and depth that keep weights."""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert_lite.checks import check_choice, check_positive, check_seed
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.models.encoder_model import (
    check_plain_weights,
    config_of,
    copy_weights,
    encoder,
    encoder_layers,
    encoder_of,
)
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.tasks.text_parts import preprocessor_of
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.preprocessor import Preprocessor

WAYS = ("interpolate", "tile")
EMBEDDINGS, ENCODER = "keras_bert_lite>Embeddings", "keras_bert_lite>Encoder"
OUTPUT = "prediction_dense"  # of an untied masked language model
READ_AT_ONCE = 1024  # texts
Shape = tuple[int, ...]


def resize(
    model: keras.Model,
    vocabulary_size: int | None = None,
    max_sequence_length: int | None = None,
    positions: str = "interpolate",
    seed: int = 0,
) -> keras.Model:
    """Returns a copy of a model with larger or smaller embedding tables.

    Args:
        model: An encoder, or a model made by a task's builder.
        vocabulary_size: Rows of the token table. New rows are sampled from a
            normal distribution around the mean of the old ones, with the
            encoder's `initializer_range`; surplus rows are dropped.
        max_sequence_length: Number of positions. A shorter position table keeps
            the first rows of the old one. Rotary positions have no table: only the
            length that preprocessors keep to changes.
        positions: How to extend the position table: `"interpolate"` stretches
            it; `"tile"` repeats it, as Longformer does, and so keeps the old
            positions unchanged.
        seed: Random seed of the new rows.

    Returns:
        A new model. All weights are copied, except those whose shape changes.

    Raises:
        ValueError: If the encoder has no position table to change, or the model
            is quantized, has LoRA or takes strings (resize the model passed to
            `with_text` instead).

    Reference: [Beltagy et al., 2020](https://arxiv.org/abs/2004.05150), section 5,
    for tiling.
    """
    _check_takes_ids(model)
    check_choice("positions", positions, WAYS)
    check_seed(seed)
    check_plain_weights(model)
    encoder_config = config_of(encoder_of(model))
    changes: dict[str, int] = {}
    for name, value in {
        "vocabulary_size": vocabulary_size,
        "max_sequence_length": max_sequence_length,
    }.items():
        if value is not None:
            check_positive(name, value)
            changes[name] = value
    if max_sequence_length is not None and encoder_config.max_sequence_length is None:
        raise ValueError(
            "`max_sequence_length` cannot change: the encoder has no position table "
            f"and takes any length. Received: {max_sequence_length}"
        )
    generator = np.random.default_rng(seed)

    def resized(path: str, table: np.ndarray, shape: Shape) -> np.ndarray:
        if "position_embedding" in path:
            offset = encoder_config.position_offset
            return _positions(table, shape[0], offset, positions)
        return _vocabulary(table, shape, encoder_config.initializer_range, generator)

    return _with_tables(model, changes, resized)


def add_tokens(
    model: keras.Model, preprocessor: Preprocessor, tokens: list[str], seed: int = 0
) -> tuple[keras.Model, Preprocessor]:
    """Adds tokens to the vocabulary of a model and its preprocessor.

    A text that contains such a token verbatim keeps it as one piece.

    Args:
        model: An encoder, or a model made by a task's builder.
        preprocessor: The preprocessor that makes its inputs.
        tokens: Tokens to add, such as `["[ENTITY]", "covid"]`; tokens already in
            the vocabulary are skipped.
        seed: Random seed of the new rows; see `resize`.

    Returns:
        A new `(model, preprocessor)` pair.

    Raises:
        ValueError: If a token is empty or has leading or trailing white space.
    """
    tokenizer = preprocessor.tokenizer.with_tokens(tokens)
    # A table may have more rows than the tokenizer has pieces.
    size = max(_token_rows(model), tokenizer.vocabulary_size())
    larger = resize(model, vocabulary_size=size, seed=seed)
    return larger, _with_tokenizer(preprocessor, tokenizer)


def keep_tokens(
    model: keras.Model,
    preprocessor: Preprocessor | Tokenizer,
    texts: Iterable[str],
    tokens: Sequence[str] = (),
) -> tuple[keras.Model, Preprocessor | Tokenizer]:
    """Returns a copy of a model that knows only the tokens of some texts.

    Most rows of a multilingual vocabulary belong to languages that an application never
    reads. A text whose tokens are all kept has the same tokens as before, and the model
    computes the same for it. In other texts, words are split into smaller pieces, down
    to characters, which makes longer rows and worse answers.

    Special and added tokens, and pieces of one character, such as digits, are always
    kept. What is kept stays in its order, with new ids.

    Args:
        model: An encoder, or a model made by a task's builder.
        preprocessor: The preprocessor that makes its inputs, or only its tokenizer.
        texts: Strings, which are read once, some at a time. A preprocessor's prompts
            are put before them.
        tokens: More pieces to keep.

    Returns:
        A new `(model, preprocessor)` pair; a tokenizer, if that was passed.

    Raises:
        TypeError: If `texts` or `tokens` is one string, or a text is not a string.
        ValueError: If no text has a token, one of `tokens` is not in the vocabulary,
            the tokenizer has more pieces than the model has rows, or the model is
            quantized, has LoRA or takes strings (see `resize`).

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> texts = ["The rain in Spain", "stays mainly in the plain."]
    >>> smaller, preprocessor = kbl.surgery.keep_tokens(encoder, preprocessor, texts)
    >>> smaller.count_params() < encoder.count_params()
    True

    Reference: [Abdaoui et al., 2020](https://arxiv.org/abs/2010.05609).
    """
    _check_takes_ids(model)
    if not isinstance(preprocessor, (Preprocessor, Tokenizer)):
        raise TypeError(
            "`preprocessor` must be a `Preprocessor` or a tokenizer. "
            f"Received: {preprocessor!r:.80}"
        )
    tokenizer, ids = _smaller_tokenizer(model, preprocessor, texts, tokens)
    trimmed = _with_rows(model, ids)
    if isinstance(preprocessor, Tokenizer):
        return trimmed, tokenizer
    return trimmed, _with_tokenizer(preprocessor, tokenizer)


def keep_tokens_in_text(model: TextModel, texts: Iterable[str]) -> TextModel:
    """Returns a copy of a model that takes strings, with the tokens of some texts.

    Its answers keep their options. See `keep_tokens`.
    """
    tokenizer, ids = _smaller_tokenizer(model, preprocessor_of(model), texts, ())
    return _with_rows(model, ids, tokenizer)


def _smaller_tokenizer(
    model: keras.Model,
    preprocessor: Preprocessor | Tokenizer,
    texts: Iterable[str],
    tokens: Sequence[str],
) -> tuple[Tokenizer, list[int]]:
    """Returns a tokenizer of the tokens to keep, and their ids before."""
    tokenizer, prompts = preprocessor, [""]
    if isinstance(preprocessor, Preprocessor):
        tokenizer = preprocessor.tokenizer
        prompts += preprocessor.prompts.values()
    check_plain_weights(model)
    for name, value in {"texts": texts, "tokens": tokens}.items():
        if isinstance(value, (str, bytes)):
            raise TypeError(
                f"`{name}` must be a list of strings. Received: {value!r:.80}"
            )
    rows, size = _token_rows(model), tokenizer.vocabulary_size()
    if size > rows:
        raise ValueError(
            "`preprocessor` must have at most as many tokens as the model, "
            f"{rows}. Received: {size} tokens"
        )
    used = np.zeros(size, bool)
    unread = iter(texts)
    while batch := [*itertools.islice(unread, READ_AT_ONCE)]:
        if wrong := [text for text in batch if not isinstance(text, str)]:
            raise TypeError(f"`texts` must be strings. Received: {wrong[0]!r:.80}")
        for prompt in prompts:
            used[tokenizer([prompt + text for text in batch]).flat_values] = True
    if not used.any() and not tokens:
        raise ValueError("`texts` must have tokens. Received: none")
    pieces = (tokenizer.id_to_token(i) for i in used.nonzero()[0].tolist())
    return tokenizer.with_only([*tokens, *pieces])


def _with_rows(
    model: keras.Model, ids: list[int], tokenizer: Tokenizer | None = None
) -> keras.Model:
    """Returns a copy of a model with some rows of its tables of tokens."""

    def rows(_: str, table: np.ndarray, shape: Shape) -> np.ndarray:
        return table.take(ids, _resized_axis(table.shape, shape))

    return _with_tables(model, {"vocabulary_size": len(ids)}, rows, tokenizer)


def _with_tables(
    model: keras.Model,
    changes: dict[str, int],
    resized: Callable[[str, np.ndarray, Shape], np.ndarray],
    tokenizer: Tokenizer | None = None,
) -> keras.Model:
    """Returns a copy of a model with tables of other sizes.

    Args:
        model: The model.
        changes: Fields of the encoder's configuration.
        resized: Makes a table from its path, its old values, and its new shape.
        tokenizer: In a model that takes strings, the tokenizer.
    """
    config = _changed(
        keras.saving.serialize_keras_object(model),
        changes,
        tokenizer and keras.saving.serialize_keras_object(tokenizer),
    )
    other = keras.saving.deserialize_keras_object(config)
    for old, new in zip(model.weights, other.weights, strict=True):
        weights, shape = keras.ops.convert_to_numpy(old), tuple(new.shape)
        if weights.shape != shape:
            weights = resized(old.path, weights, shape)
        new.assign(weights)
        new.trainable = old.trainable  # the user may have frozen it
    return other


def _with_tokenizer(preprocessor: Preprocessor, tokenizer: Tokenizer) -> Preprocessor:
    serialized = keras.saving.serialize_keras_object(tokenizer)
    config = {**preprocessor.get_config(), "tokenizer": serialized}
    return Preprocessor.from_config(config)


def _token_rows(model: keras.Model) -> int:
    return encoder_layers(encoder_of(model))[0].vocabulary_size


def _check_takes_ids(model: keras.Model) -> None:
    if isinstance(model, TextModel):
        raise ValueError(
            "`model` must take ids; put the text back with `with_text`. "
            f"Received: the string-in model {model.name!r}"
        )


def _changed(
    config: Any, changes: dict[str, int], tokenizer: dict[str, Any] | None = None
) -> Any:
    """Changes the encoder's fields, and the tokenizer, in a serialized model."""
    if isinstance(config, list):
        return [_changed(part, changes, tokenizer) for part in config]
    if not isinstance(config, dict):
        return config
    kind = config.get("registered_name")
    if tokenizer and kind == tokenizer["registered_name"]:
        return tokenizer
    # The recorded shapes no longer hold, so layers must be built again.
    found = {
        name: _changed(value, changes, tokenizer)
        for name, value in config.items()
        if name != "build_config"
    }
    inner: Any = found.get("config")
    if kind == EMBEDDINGS:
        rows = {name: x for name, x in changes.items() if inner[name] is not None}
        found["config"] = {**inner, **rows}
    elif kind == ENCODER:
        config = {**inner["config"], **changes}
        limit = config["max_sequence_length"] if inner["max_sequence_length"] else None
        found["config"] = {**inner, "config": config, "max_sequence_length": limit}
    elif isinstance(inner, dict) and inner.get("name") == OUTPUT:
        units = changes.get("vocabulary_size", inner["units"])
        found["config"] = {**inner, "units": units}
    return found


def _positions(table: np.ndarray, rows: int, offset: int, way: str) -> np.ndarray:
    """Resizes a position table, keeping its first `offset` rows (no positions)."""
    before, old = table[:offset], table[offset:]
    count = rows - offset
    if count <= len(old):
        new = old[:count]
    elif way == "tile":
        new = np.resize(old, (count, old.shape[1]))
    else:
        indices = np.linspace(0, len(old) - 1, count)
        low = np.floor(indices).astype(int)
        high = np.minimum(low + 1, len(old) - 1)
        share = (indices - low)[:, None]
        new = old[low] * (1 - share) + old[high] * share
    return np.concatenate([before, new]).astype(table.dtype)


def _vocabulary(
    table: np.ndarray, shape: Shape, scale: float, generator: Any
) -> np.ndarray:
    """Truncates the axis that differs, or extends it with noise around the mean."""
    axis = _resized_axis(table.shape, shape)
    missing = shape[axis] - table.shape[axis]
    if missing < 0:
        return table.take(range(shape[axis]), axis)
    mean = table.mean(axis, keepdims=True)
    more = [missing if i == axis else n for i, n in enumerate(shape)]
    noise = generator.normal(0, scale if table.ndim > 1 else 0, more)
    return np.concatenate([table, mean + noise], axis).astype(table.dtype)


def _resized_axis(old: Shape, new: Shape) -> int:
    return next(i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)


EMBEDDING_PARTS = (
    "token_embedding",
    "segment_embedding",
    "position_embedding",
    "task_embedding",
    "layer_norm",
    "projection",
)


def keep_layers(
    model: keras.Model, layers: Sequence[int], family: str | None = None
) -> keras.Model:
    """Returns a new encoder with copies of some of the blocks of another.

    Args:
        model: An encoder, or a model that contains one.
        layers: Indices of the blocks, from 0, in their new order. DistilBERT was
            initialized from `[0, 2, 4, 7, 9, 11]` of BERT base.
        family: `"distilbert"` converts a BERT into a DistilBERT and, like its
            authors, drops the segment embeddings and the pooler. `None` keeps
            the family.

    Raises:
        ValueError: If an index is out of range, a global layer would become local or
            the reverse, the encoder shares its blocks, is quantized or has LoRA, or
            `family="distilbert"` is used with an encoder other than BERT.

    Reference: [Sanh et al., 2019](https://arxiv.org/abs/1910.01108), section 3.
    """
    body = encoder_of(model)
    config = config_of(body)
    embeddings, blocks, pooler = encoder_layers(body)
    check_choice("family", family, ("distilbert", None))
    check_plain_weights(body)
    if family is not None and config.family != "bert":
        raise ValueError(
            "`family` must be None unless the encoder is a BERT. "
            f"Received: {family!r} and an encoder of the family {config.family!r}"
        )
    if config.num_groups is not None:
        raise ValueError(
            "`model` must have a block for each layer. "
            f"Received: num_groups={config.num_groups}"
        )
    count = config.num_layers
    if not layers or any(not 0 <= i < count for i in layers):
        raise ValueError(
            f"`layers` must be numbers from 0 to {count - 1}. Received: {layers!r}"
        )
    _check_kinds(config, layers)
    config = config.replace(num_layers=len(layers), family=family or config.family)
    if family == "distilbert":
        config = config.replace(num_segments=0, pooling=None)
    with _policy(blocks.dtype_policy):
        smaller = encoder(config)
    new_embeddings, new_blocks, new_pooler = encoder_layers(smaller)
    pairs: list[Any] = list(
        zip(new_blocks.blocks, (blocks.blocks[i] for i in layers), strict=True)
    )
    if new_pooler is not None:
        pairs.append((new_pooler, pooler))
    for name in blocks.PARTS:
        if getattr(blocks, name) is not None:
            pairs.append((getattr(new_blocks, name), getattr(blocks, name)))
    for name in EMBEDDING_PARTS:
        if getattr(new_embeddings, name) is not None:
            pairs.append((getattr(new_embeddings, name), getattr(embeddings, name)))
    for target, source in pairs:
        copy_weights(source, target)
    return smaller


def _check_kinds(config: EncoderConfig, layers: Sequence[int]) -> None:
    """Refuses to move a block to a place that computes something else."""

    def kind(layer: int) -> tuple[int | None, bool]:
        bare = config.norms.before and not config.norms.first and layer == 0
        return config.window(layer), bare

    for place, layer in enumerate(layers):
        if kind(place) != kind(layer):
            raise ValueError(
                "`layers` must keep global and local layers in their order, and a "
                "first layer without a norm at its place. Received: "
                f"layer {layer} in place {place} of {list(layers)}"
            )


@contextlib.contextmanager
def _policy(policy: keras.DTypePolicy) -> Iterator[None]:
    """Sets the global dtype policy for the layers created inside."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)

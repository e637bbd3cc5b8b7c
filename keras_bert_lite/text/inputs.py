"""Texts, pairs of texts, and texts with candidates, as users pass them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.strings import as_strings

# Names of texts. Candidates are lists of second texts; "" only fills a list up.
TEXT, SECOND, CANDIDATES = "text", "text_pair", "candidates"
PROMPT = "prompt_name"  # of a text; "" is the default prompt


def named_texts(inputs: Any) -> dict[str, Any]:
    """Returns `text` and what each of them is paired with, in this order."""
    if isinstance(inputs, dict):
        second = [name for name in (SECOND, CANDIDATES) if name in inputs]
        if set(inputs) - {TEXT, *second} or TEXT not in inputs or len(second) > 1:
            raise ValueError(
                "The inputs must be `text` and, for pairs, `text_pair` or "
                f"`candidates`. Received: {sorted(inputs)}"
            )
        return {name: inputs[name] for name in (TEXT, *second)}
    if isinstance(inputs, tuple):
        if len(inputs) != 2:
            raise ValueError(
                "A tuple must be a pair `(text, text_pair)`; pass a batch as a list. "
                f"Received: a tuple of {len(inputs)}"
            )
        return {"text": inputs[0], "text_pair": inputs[1]}
    return {"text": inputs}


def without_prompt_name(inputs: Any) -> tuple[Any, Any]:
    """Returns the texts, and the names of their prompts; `None`: the default one."""
    if not isinstance(inputs, dict) or PROMPT not in inputs:
        return inputs, None
    return {k: x for k, x in inputs.items() if k != PROMPT}, inputs[PROMPT]


def texts_by_input(texts: Any, inputs: Collection[str]) -> dict[str, Any]:
    """Returns the texts for a model, by the names of its inputs.

    Args:
        texts: As `named_texts` takes them; for pairs, also a list of tuples.
        inputs: The names, `text` and, for pairs, `text_pair` or `candidates`; perhaps
            `prompt_name`, which may be one name for all texts, or left out.

    Raises:
        ValueError: If the model takes pairs and the texts are single, or vice versa.
    """
    if PROMPT in inputs:
        texts, prompts = without_prompt_name(texts)
        named = texts_by_input(texts, [x for x in inputs if x != PROMPT])
        prompts = as_strings("" if prompts is None else prompts, PROMPT)
        if prompts.shape.rank == 0:
            prompts = tf.fill(tf.shape(as_strings(named[TEXT], TEXT)), prompts)
        return {**named, PROMPT: prompts}
    rows = isinstance(texts, list) and all(isinstance(x, tuple) for x in texts)
    if rows and texts and len(inputs) == 2:
        for pair in texts:
            if len(pair) != 2:
                raise ValueError(
                    "A tuple in a list must be a pair `(text, text_pair)`. "
                    f"Received: {pair!r}"
                )
        texts = tuple(map(list, zip(*texts, strict=True)))
    named = named_texts(texts)
    if isinstance(texts, tuple) and CANDIDATES in inputs:
        named = {CANDIDATES if x == SECOND else x: y for x, y in named.items()}
    if set(named) != set(inputs):
        tuples = ", from a tuple, which is a pair; pass several texts as a list"
        raise ValueError(
            f"The model takes {sorted(inputs)}. Received: {sorted(named)}"
            f"{tuples if isinstance(texts, tuple) else ''}"
        )
    return named


def as_batch(text: Any, name: str, rank: int = 1, words: bool = False) -> tf.Tensor:
    """Returns a batch of strings; refuses any other rank.

    Args:
        text: Strings, as a user passes them.
        name: The argument's name for error messages.
        rank: 1 for one string per row, 2 for several.
        words: Whether the strings of a row are its words. Shorter rows of words, as
            of candidates, are padded with empty strings.

    Raises:
        ValueError: If the rank differs, or rows of other strings differ in length.
    """
    strings = as_strings(text, name)
    if rank == 2 and strings.shape == (0,):  # no rows: no words, or one choice
        strings = tf.reshape(strings, [0, 0 if words else 1])
    if strings.shape.rank != rank:
        kind = "a batch of strings" if rank == 1 else "a batch of lists of strings"
        raise ValueError(
            f"`{name}` must be {kind} (rank {rank}). "
            f"Received: rank {strings.shape.rank}, shape {strings.shape}"
        )
    if rank == 2 and not words and strings.shape[1] == 0:
        raise ValueError(
            f"`{name}` must have at least one string in every row. "
            f"Received: shape {strings.shape}"
        )
    if not isinstance(strings, tf.RaggedTensor):
        return strings
    if words or name == CANDIDATES:
        return strings.to_tensor("")
    return _dense(strings, name)


def check_rows(batches: dict[str, tf.Tensor]) -> None:
    """Raises a ValueError if texts and second texts differ in their number of rows."""
    sizes = [x.shape[0] for x in batches.values()]
    if None not in sizes and len(set(sizes)) > 1:
        raise ValueError(
            f"{_both(batches)} must have the same number of rows. "
            f"Received: {sizes[0]} and {sizes[1]}"
        )


def _both(named: Collection[str]) -> str:
    return " and ".join(f"`{name}`" for name in named)


def aligned(named: dict[str, Any]) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Brings texts and their pairs to one shape.

    Args:
        named: `text` and, for pairs, a second text: strings of one shape, of rank
            0, 1 or 2. A `text` of shape `(B,)` may also have second texts `(B, C)`;
            it then precedes each of them.

    Returns:
        The shape, a vector of integers, and the flat texts.

    Raises:
        ValueError: If the shapes do not match.
    """
    texts = [
        as_batch(x, name, 2)
        if name == CANDIDATES
        else _dense(as_strings(x, name), name)
        for name, x in named.items()
    ]
    ranks = [x.shape.rank for x in texts]
    if max(ranks) > 2 or (len(set(ranks)) > 1 and ranks != [1, 2]):
        raise ValueError(
            "The texts must have the same rank, at most 2, or `text` rank 1 and the "
            f"second rank 2. Received: {dict(zip(named, ranks, strict=True))}"
        )
    if len(texts) == 2:
        texts = _same_size(texts[0], texts[1], _both(named))
    shape = tf.shape(texts[-1])
    return shape, [tf.reshape(x, [-1]) for x in texts]


def _dense(strings: tf.Tensor | tf.RaggedTensor, name: str) -> tf.Tensor:
    if not isinstance(strings, tf.RaggedTensor):
        return strings
    raise ValueError(
        f"`{name}` must have the same number of strings in every row. "
        f"Received: a ragged tensor of shape {strings.shape}"
    )


def _same_size(text: tf.Tensor, pair: tf.Tensor, names: str) -> list[tf.Tensor]:
    message = f"{names} must have the same number of strings."
    if pair.shape.rank == 0:
        return [text, pair]
    sizes = text.shape[0], pair.shape[0]
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(f"{message} Received: {sizes[0]} and {sizes[1]}")
    same = tf.debugging.assert_equal(tf.shape(text)[0], tf.shape(pair)[0], message)
    with tf.control_dependencies([] if tf.executing_eagerly() else [same]):
        text = tf.identity(text)
    if text.shape.rank == 1 and pair.shape.rank == 2:
        text = tf.repeat(text[:, None], tf.shape(pair)[1], 1)
    return [text, pair]

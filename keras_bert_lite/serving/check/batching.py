"""The batching law: joined requests get the answers that they get alone."""

from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert_lite.serving.check.signatures import run

TOLERANCE = 1e-4
# From nothing to more than an encoder takes, in several scripts.
TEXTS = (
    "a",
    "",
    "A fine day!",
    "Größe, naïve, 東京タワー, день 🙂",
    "the weather is fine and the day is long " * 50,
)


def batching_problems(loaded: Any, signature: str) -> list[str]:
    """Tries the batching law on a signature whose inputs are lists of strings.

    A server that batches joins requests along the first dimension, so for
    every output f(a ++ b) must equal f(a) ++ f(b), whatever the lengths, and
    no rows must give no rows. Where an output's further dimensions are
    unknown, a joined answer may be longer than the one alone (rows are padded
    to the longest); what both have is compared.

    Args:
        loaded: What `tf.saved_model.load` returns.
        signature: The signature's name.

    Returns:
        Problems, one sentence each.
    """
    specs = loaded.signatures[signature].structured_input_signature[1]
    # Another text for each input: a pair of equals hides a mix-up.
    columns = {
        name: _column(i, specs[name].shape.rank) for i, name in enumerate(sorted(specs))
    }
    together = _answers(loaded, signature, columns)
    alone = [
        _answers(
            loaded, signature, {n: column[i : i + 1] for n, column in columns.items()}
        )
        for i in range(len(TEXTS))
    ]
    nothing = _answers(
        loaded, signature, {n: column[:0] for n, column in columns.items()}
    )
    problems = []
    for name in sorted(together):
        rows = [answer[name] for answer in alone]
        found = (
            _wrong_count(together[name], len(TEXTS))
            or next((w for row in rows if (w := _wrong_count(row, 1))), None)
            or _wrong_count(nothing[name], 0)
            or _difference(together[name], rows)
        )
        if found:
            problems.append(f"Output {name!r} of signature {signature!r} {found}")
    return problems


def _column(shift: int, rank: int) -> np.ndarray:
    """Texts (B,), or (B, 2) where a row has several strings."""
    texts = np.roll(np.array(TEXTS, object), shift)
    return texts if rank == 1 else np.stack([texts, np.roll(texts, 1)], axis=1)


def _answers(loaded: Any, signature: str, inputs: dict) -> dict[str, np.ndarray]:
    tensors = {
        name: tf.constant(x.tolist(), tf.string, x.shape) for name, x in inputs.items()
    }
    try:
        outputs = run(loaded, signature, tensors)
    except ValueError as error:
        sizes = [len(text) for text in next(iter(inputs.values())).flat]
        raise ValueError(
            f"Signature {signature!r} fails on {len(sizes)} texts of {sizes} "
            f"characters: {error}"
        ) from error
    return {name: x.numpy() for name, x in outputs.items()}


def _wrong_count(answer: np.ndarray, rows: int) -> str | None:
    if answer.ndim and answer.shape[0] == rows:
        return None
    return (
        f"must have one row for each text. Received: {rows} texts, and an answer of "
        f"shape {answer.shape}"
    )


def _difference(together: np.ndarray, rows: list[np.ndarray]) -> str | None:
    for i, alone in enumerate(rows):
        joined = together[i : i + 1]
        if any(a > b for a, b in zip(alone.shape, joined.shape, strict=True)):
            found = f"shape {alone.shape} alone and {joined.shape} among others"
        elif not _equal(joined := joined[tuple(map(slice, alone.shape))], alone):
            found = _distance(joined, alone)
        else:
            continue
        return (
            f"breaks the batching law: a text of {len(TEXTS[i])} characters gets "
            f"{found}. A row's answer must not depend on its neighbours or on padding."
        )
    return None


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    if np.issubdtype(a.dtype, np.floating):
        return bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
    return bool(np.array_equal(a, b))


def _distance(a: np.ndarray, b: np.ndarray) -> str:
    if np.issubdtype(a.dtype, np.floating):
        return f"values up to {np.nanmax(np.abs(a - b)):.2g} apart alone and batched"
    return "other values alone than among others"

"""The batching law: batched requests get the same answers as single ones."""

from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.serving.check.signatures import run
from keras_bert_lite.text.inputs import PROMPT

TOLERANCE = 1e-4
# From empty to longer than an encoder takes, in several scripts.
TEXTS = (
    "a",
    "",
    "A fine day!",
    "Größe, naïve, 東京タワー, день 🙂",
    "the weather is fine and the day is long " * 50,
)


def batching_problems(loaded: Any, signature: str) -> list[str]:
    """Tests the batching law on a signature whose inputs are lists of strings.

    A server with batching concatenates requests along the first dimension. So every
    output must satisfy f(a ++ b) = f(a) ++ f(b) for texts of any length, and an
    empty batch must give an empty output. Rows may be padded to the longest, so
    a batched answer may be longer than a single one; only the common part is
    compared.

    Args:
        loaded: The result of `tf.saved_model.load`.
        signature: The signature's name.

    Returns:
        Descriptions of the problems.
    """
    specs = loaded.signatures[signature].structured_input_signature[1]
    # Each input gets different texts, since equal ones would hide a mix-up.
    columns = {
        name: _column(i, specs[name].shape.rank) for i, name in enumerate(sorted(specs))
    }
    if PROMPT in columns:  # which takes no other names than its own
        columns[PROMPT] = np.full(len(TEXTS), "", object)
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
    """Returns texts (B,), or (B, 2) if rows have several strings."""
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

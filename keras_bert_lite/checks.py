"""Argument checks, whose errors name the argument and the received value."""

import importlib.util
import math
import unicodedata
from typing import Any


def check_installed(*modules: str, extra: str) -> None:
    """Checks that the modules that an extra of this package installs are there."""
    missing = [x for x in modules if importlib.util.find_spec(x) is None]
    if missing:
        raise ImportError(
            f"This needs `pip install 'keras-bert-lite[{extra}]'` (the extra "
            f"`{extra}`). Not installed: {', '.join(missing)}"
        )


def check_positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"`{name}` must be a positive integer. Received: {value!r}")


def check_not_negative(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(
            f"`{name}` must be a whole number, 0 or more. Received: {value!r}"
        )


def check_seed(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        raise ValueError(
            f"`seed` must be a whole number, from 0 to 2**32 - 1. Received: {value!r}"
        )


def check_bool(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"`{name}` must be True or False. Received: {value!r}")


def check_above_zero(name: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise ValueError(f"`{name}` must be a positive number. Received: {value!r}")


def check_rate(name: str, value: Any) -> None:
    if not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise ValueError(f"`{name}` must be in [0, 1). Received: {value!r}")


def check_share(name: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise ValueError(f"`{name}` must be in [0, 1]. Received: {value!r}")


def check_number(name: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise ValueError(f"`{name}` must be a finite number. Received: {value!r}")


def check_between(name: str, value: Any, low: float, high: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not low < value < high:
        raise ValueError(
            f"`{name}` must be between {low} and {high}, both excluded. "
            f"Received: {value!r}"
        )


def check_label(name: str, value: str) -> None:
    """Refuses a label that is blank, or that is not the same once it is written.

    NumPy's strings lose a NUL at their end; tables and Markdown lose line ends.
    """
    if not value.strip() or any(unicodedata.category(x) == "Cc" for x in value):
        raise ValueError(
            f"`{name}` must be names that are not empty, without control characters. "
            f"Received: {value!r}"
        )


def check_choice(name: str, value: Any, choices: tuple) -> None:
    # `1 == True`, but 1 is no boolean.
    same_kind = [x for x in choices if isinstance(value, bool) == isinstance(x, bool)]
    if value not in same_kind:
        raise ValueError(f"`{name}` must be one of {choices}. Received: {value!r}")


def check_rotary(base: Any, scale: Any, share: Any) -> None:
    """Checks the numbers of rotary positions; see `layers.RotaryPositions`."""
    for name, value in {"base": base, "scale": scale, "share": share}.items():
        check_above_zero(name, value)
    if share > 1:
        raise ValueError(f"`share` must be at most 1. Received: {share}")


def check_distances(max_distance: Any, buckets: Any) -> None:
    """Checks how distances share vectors; see `layers.DisentangledAttention`."""
    check_positive("max_distance", max_distance)
    if buckets is None:
        return
    check_positive("buckets", buckets)
    if buckets < 2 or max_distance <= buckets // 2 + 1:
        raise ValueError(
            "`buckets` must be at least 2, and half of it less than `max_distance` "
            f"- 1. Received: buckets={buckets}, max_distance={max_distance}"
        )


def check_terms(terms: Any, known: tuple[str, ...]) -> None:
    """Checks position terms of scores; see `layers.DisentangledAttention`."""
    if not isinstance(terms, (list, tuple)) or not set(terms) <= set(known):
        raise ValueError(
            f"`terms` must be a list of some of {known}. Received: {terms!r}"
        )


def check_bias_buckets(num_buckets: Any, max_distance: Any) -> None:
    """Checks how distances share biases; see `layers.RelativeBiasTable`."""
    check_positive("num_buckets", num_buckets)
    check_positive("max_distance", max_distance)
    if num_buckets % 4 or max_distance <= num_buckets // 4:
        raise ValueError(
            "`num_buckets` must be a multiple of 4, and a fourth of it less than "
            f"`max_distance`. Received: num_buckets={num_buckets}, "
            f"max_distance={max_distance}"
        )


def check_key_value_heads(num_key_value_heads: Any, num_heads: int) -> None:
    """Checks how many heads share keys and values; see `layers.SelfAttention`."""
    check_positive("num_key_value_heads", num_key_value_heads)
    if num_heads % num_key_value_heads:
        raise ValueError(
            "`num_key_value_heads` must divide `num_heads`. Received: "
            f"num_key_value_heads={num_key_value_heads}, num_heads={num_heads}"
        )

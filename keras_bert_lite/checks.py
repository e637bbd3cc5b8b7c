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

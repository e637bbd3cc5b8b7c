"""Whether a graph is traced for another engine, where layers take other forms."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_PLAIN, _FUSES = "plain attention", "fused attention"
_engine: ContextVar[str | None] = ContextVar("_engine", default=None)


@contextlib.contextmanager
def for_engine(fuses_attention: bool = False) -> Iterator[None]:
    """Gives layers that are traced here the forms that another engine is fast on.

    Converters know no branches and loops, so attention is over whole rows, also long
    ones. Layer normalization and GELU are written in the operations by which engines
    find them.

    Args:
        fuses_attention: Whether the engine has a kernel for attention over padded rows.
    """
    before = _engine.set(_FUSES if fuses_attention else _PLAIN)
    try:
        yield
    finally:
        _engine.reset(before)


def traced_for_engine() -> bool:
    """Whether this is within `for_engine`."""
    return _engine.get() is not None


def engine_fuses_attention() -> bool:
    """Whether this is within `for_engine(fuses_attention=True)`."""
    return _engine.get() == _FUSES

"""Attention over whole rows only, for converters that have no branches and loops."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_only: ContextVar[bool] = ContextVar("_only", default=False)


@contextlib.contextmanager
def whole_rows() -> Iterator[None]:
    """Lets layers that are traced here attend to whole rows, also to long ones."""
    before = _only.set(True)
    try:
        yield
    finally:
        _only.reset(before)


def only_whole_rows() -> bool:
    """Whether this is within `whole_rows`."""
    return _only.get()

"""Keras's progress bar, where it can be drawn."""

import sys
from typing import Any

import keras

BAR, LAST = 1, 2  # what `keras.utils.Progbar` shows: all the time, only the end


def can_redraw() -> bool:
    """Whether a line can be written over: in terminals and notebooks, not in files.

    On Linux Keras takes this for granted, and fills log files with bars.
    """
    return sys.stdout.isatty() or "ipykernel" in sys.modules


def progress_bar(
    total: float | None, show: bool = True, **options: Any
) -> keras.utils.Progbar:
    """Returns a bar; in a log file, only the end of a known total is shown.

    Args:
        total: What there is to do; `None` if it is unknown.
        show: Whether anything is shown.
        **options: Other arguments of `keras.utils.Progbar`.
    """
    at_end = 0 if total is None else LAST  # Keras 3.13 fails there
    shown = BAR if can_redraw() else at_end
    return keras.utils.Progbar(total, verbose=shown if show else 0, **options)

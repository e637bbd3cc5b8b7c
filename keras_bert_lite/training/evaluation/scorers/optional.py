"""Optional dependencies: the official scorers."""

import importlib
from typing import Any


def optional(module: str) -> Any:
    """Imports a module of the extra `evaluation`, or says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"This needs {module}: `pip install {module.split('.')[0]}`."
        ) from error

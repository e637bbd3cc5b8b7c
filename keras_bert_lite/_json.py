"""JSON that says one thing only."""

import collections
import json
from typing import Any


def parse_json(text: str) -> Any:
    """Parses JSON, which may begin with a byte order mark.

    Python's parser takes the last of two values under one key, others the first, so
    that two readers of a file may read different models.

    Raises:
        ValueError: If it is not JSON, or an object has a key twice.
    """
    try:
        return json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        (repeated, _), *_ = collections.Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {repeated!r} is there twice")
    return values

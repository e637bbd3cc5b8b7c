"""Results in a file, in which an interrupted command goes on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Log:
    """Results, a line each; those that are there are not made again.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.records: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def once(
        self, key: dict[str, Any], make: Callable[[], dict[str, Any] | None]
    ) -> dict[str, Any] | None:
        """Returns the result of a key, which is made if it is not there."""
        found = [x for x in self.records if key.items() <= x.items()]
        made = found[-1] if found else make()
        if made is None or found:
            return made
        record = {**key, **made}
        self.records.append(record)
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(json.dumps({**key, **made.get("scores", made)}), flush=True)
        return record

"""What is done with every key of the JSON files of checkpoints.

Each reader has a `Keys` for its file. A key that changes what a model or a tokenizer
computes is followed, or refused unless it has the one value that is computed here; the
others are ignored by name. A key that is in no list is reported: files of a later
version must load, but nobody should have to guess what was left out.
"""

import dataclasses
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class Keys:
    """What is done with the keys of a JSON object.

    Args:
        followed: Keys that are read.
        only: Keys that are refused unless they have this value, or none.
        ignored: Keys that change no number, or none that is computed here.
    """

    followed: Iterable[str]
    only: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    ignored: Iterable[str] = ()

    def check(self, raw: Mapping[str, Any], where: Path | str) -> None:
        """Checks the keys of an object.

        Args:
            raw: The object.
            where: Its file, and perhaps the part of it, for messages.

        Warns:
            UserWarning: If a key is unknown.

        Raises:
            ValueError: If a key has a value that is not supported.
        """
        for name, value in self.only.items():
            # Some writers store null for the default.
            if raw.get(name) not in (value, None):
                raise ValueError(
                    f"{where}: `{name}` must be {value!r}. Received: {raw[name]!r:.200}"
                )
        unknown = raw.keys() - {*self.followed, *self.only, *self.ignored}
        if unknown:
            warnings.warn(
                f"{where}: unknown keys are ignored: {sorted(unknown)}.", stacklevel=2
            )

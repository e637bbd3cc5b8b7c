"""A clock that stands still while the hypervisor gives the cores to others."""

import os
import time
from pathlib import Path
from typing import NamedTuple


class Moment(NamedTuple):
    """Seconds on the wall, and those of them that were stolen, mean of the cores."""

    wall: float
    stolen: float

    @classmethod
    def now(cls) -> "Moment":
        return cls(time.perf_counter(), stolen_seconds())

    def since(self, start: "Moment") -> "Moment":
        return Moment(
            round(self.wall - start.wall, 3), round(self.stolen - start.stolen, 3)
        )


def stolen_seconds(path: Path = Path("/proc/stat")) -> float:
    """Returns the steal time since the start of the machine; 0 where none is told."""
    if not path.is_file():
        return 0.0
    with open(path, encoding="utf-8") as file:
        values = file.readline().split()
    steal = int(values[8]) if len(values) > 8 else 0
    return steal / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)

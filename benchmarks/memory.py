"""How much memory a process has taken."""

from pathlib import Path


def peak_memory() -> int:
    """Returns the most bytes that this process has held.

    `getrusage` would not do: what it says begins at what the parent held.
    """
    return _status("VmHWM")


def held_memory() -> int:
    """Returns the bytes that this process holds now."""
    return _status("VmRSS")


def mapped_files() -> int:
    """Returns the bytes of files, most of them libraries, that are in memory now."""
    return _status("RssFile")


def _status(name: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(x for x in status.split("\n") if x.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024

"""Versions of a served model: folders with a number, which appear whole."""

from pathlib import Path

from keras_bert_lite._files import move_to_new


def publish(draft: Path, directory: Path, version: int | None) -> Path:
    """Moves a complete version to its place, and returns that."""
    while True:
        target = version_path(directory, version)
        try:
            move_to_new(draft, target)
        except FileExistsError:
            if version is not None:
                raise
        else:
            return target


def version_path(directory: Path, version: int | None) -> Path:
    """Returns where a version belongs; `None`: the next free one.

    Raises:
        ValueError: If it is not a positive integer.
        FileExistsError: If it exists.
    """
    if version is None:
        taken = [int(p.name) for p in directory.glob("*") if p.name.isdigit()]
        version = max(taken, default=0) + 1
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError(f"`version` must be a positive integer. Received: {version!r}")
    target = directory / str(version)
    if target.exists():
        raise FileExistsError(
            f"{target} exists. Pass another `version`, or None for the next one."
        )
    return target

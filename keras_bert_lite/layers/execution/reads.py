"""What a layout prepares for an attention layer."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class Rotary(Protocol):
    """Positions by which queries and keys are rotated."""

    def rotations(self, length: Any, size: int) -> Any:
        """Returns arrays `(S, D / 2)` for a length S and heads of size D."""


class Reads(NamedTuple):
    """What an attention layer reads from the layout of a batch.

    Attributes:
        num_heads: The number of its heads (N).
        head_dim: The size of a head (D).
        window: Its attention window: tokens attend to positions that are at most
            `window // 2` away. `None`: to all positions.
        rotary: Its rotary positions, or `None`.
    """

    num_heads: int
    head_dim: int
    window: int | None = None
    rotary: Rotary | None = None

    @property
    def rotation(self) -> Any:
        """The key of its rotation among those of a layout."""
        return self.rotary, self.head_dim


def windows_of(reads: Sequence[Reads]) -> set[int | None]:
    """Returns the windows of some layers."""
    return {x.window for x in reads}


def rotations_of(reads: Sequence[Reads], length: Any) -> dict[Any, Any]:
    """Returns the rotations of the positions of a row, by `Reads.rotation`.

    Positions count from the first token of a row, also for packed sequences: only
    differences of positions matter.
    """
    return {
        x.rotation: x.rotary.rotations(length, x.head_dim)
        for x in reads
        if x.rotary is not None
    }

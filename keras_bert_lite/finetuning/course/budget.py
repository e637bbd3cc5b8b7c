"""How many steps there is time for."""

import time


class Budget:
    """Time that training may take.

    The clock runs from `begin`, when the first step has been traced.

    Args:
        minutes: The time; `None`: no limit.
        reserve: Seconds that are kept for what comes after training.
    """

    def __init__(self, minutes: float | None, reserve: float) -> None:
        self.seconds = None if minutes is None else 60 * minutes
        self.reserve = reserve
        self._began = time.monotonic()

    def begin(self) -> None:
        self._began = time.monotonic()

    @property
    def deadline(self) -> float | None:
        """When training must end, in `time.monotonic()`."""
        if self.seconds is None:
            return None
        return self._began + self.seconds - self.reserve

    def steps(self, step: float, overhead: float) -> int:
        """Returns how many steps fit into what is left, at least one.

        Args:
            step: Seconds of a training step and its share of the evaluations.
            overhead: Seconds of all else.
        """
        assert self.deadline is not None
        return max(1, int((self.deadline - time.monotonic() - overhead) / step))

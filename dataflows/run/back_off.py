"""Wait before a process that died is started again."""

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 30.0
LONG_LIFE_SECONDS = 60.0


class BackOff:
    """Wait twice as long after every death, and from the beginning after a long life."""

    def __init__(self) -> None:
        self._following = FIRST_SECONDS

    def after(self, life: float) -> float:
        """Return how many seconds to wait after a process lived for so many."""
        if life >= LONG_LIFE_SECONDS:
            self._following = FIRST_SECONDS
        seconds = self._following
        self._following = min(2 * seconds, LONGEST_SECONDS)
        return seconds

"""Wait for what a transaction holds back: do something about it now and then, and give up late."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fugu.dataflows.base.errors import KafkaUnavailable

LONGEST_SECONDS = 60.0
PAUSE_SECONDS = 0.01
_SECONDS = 1.0


@dataclass
class Patience:
    """Do something whenever nothing has moved for a while, and give up after a long one."""

    do: Callable[[], object]
    seconds: float = _SECONDS
    _moved: float = field(default_factory=time.monotonic, init=False)
    _done: float = field(default=0.0, init=False)

    @property
    def is_over(self) -> bool:
        """Return whether it was done once."""
        return self._done > 0.0

    def __call__(self) -> None:
        if time.monotonic() - max(self._moved, self._done) > self.seconds:
            self.do()
            self._done = time.monotonic()

    def moved(self) -> None:
        """Note that something has moved."""
        self._moved = time.monotonic()

    def require_hope(self, topic: str, partition: int, offset: int) -> None:
        """Raise `KafkaUnavailable` after a minute."""
        if time.monotonic() - self._moved > LONGEST_SECONDS:
            raise KafkaUnavailable(
                f"topic {topic}, partition {partition}: nothing behind offset {offset} can be read "
                f"for {LONGEST_SECONDS:.0f} s, because a transaction is open there. "
                "kafka-transactions.sh find-hanging names its producer"
            )

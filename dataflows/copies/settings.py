"""Hold what is set of a copy, besides its plan."""

from dataclasses import dataclass
from typing import Literal

_SHORTEST_TRANSACTION_SECONDS = 10.0
_EVERY_IN_TRANSACTION = 10

Standby = Literal["none", "kept", "all"]
"""Says which chains a copy follows of partitions that others own."""


@dataclass(frozen=True, kw_only=True)
class CopySettings:
    """Say what the copy is called, how often it cuts, in seconds, and whom it follows."""

    instance: str
    every: float
    standby: Standby = "none"

    @property
    def milliseconds(self) -> int:
        """Return how long a transaction may last."""
        seconds = max(_SHORTEST_TRANSACTION_SECONDS, _EVERY_IN_TRANSACTION * self.every)
        return int(seconds * 1000)

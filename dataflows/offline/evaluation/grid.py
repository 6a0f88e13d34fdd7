"""What is compared, and what is not, where an operator does not take every epsilon."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fugu.dataflows.offline.evaluation.candidates import Candidate

C = TypeVar("C", bound=Candidate)


@dataclass
class Grid(Generic[C]):
    """The candidates, and why others are none, by name and reason, with their epsilons."""

    candidates: list[C] = field(default_factory=list)
    _left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict, init=False)

    def leave_out(self, name: str, epsilon: float, reason: str) -> None:
        """Note why there is no such candidate."""
        self._left_out.setdefault((name, reason), []).append(f"{epsilon:g}")

    @property
    def left_out(self) -> list[str]:
        """For people."""
        return [
            f"left out: {name} at eps {', '.join(epsilons)}: {reason}"
            for (name, reason), epsilons in self._left_out.items()
        ]

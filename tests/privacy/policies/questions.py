"""Say what is published of a tick, and by how much one person's secrets can change it.

Source: Swellfish specification, section 3, with changes of a tick found by trying all places of
each secret (`neighbours`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.privacy.policies.neighbours import Person, most_by_tick

ROOMS = ("bath", "kitchen", "garage")


@dataclass(frozen=True)
class Question:
    """Ask for a sum or for counts; one person changes it by up to `most` units.

    Secrets change up to `largest` of what the question is about, and name `activities` of it.
    """

    query: Mapping[str, Any]
    most: int
    largest: int
    activities: tuple[str, ...] = ()
    operator: Mapping[str, Any] = field(default_factory=dict)
    numbers: int = 1

    def document(self) -> dict[str, Any]:
        """Write it as documents have it."""
        activities = {"activities": list(self.activities)} if self.activities else {}
        return {"query": dict(self.query), **activities}

    def change(self, person: Person, tick: int) -> int:
        """Return by how much neighbours differ in a tick."""
        changes = [(one, most_by_tick(one).get(tick, 0)) for one in person if one.is_open(tick)]
        total = sum(amount for _, amount in changes)
        kind = self.query["kind"]
        if kind in ("count", "histogram"):
            return self.most if total else 0
        if kind == "multi_histogram":
            touched = {
                activity
                for secret, amount in changes
                if amount
                for activity in secret.activities or self.activities
            }
            return min(total, len(touched), self.most)
        return min(total, self.most)


QUESTIONS = {
    "sum": Question({"kind": "sum", "cap": 20}, 20, 9),
    "count": Question({"kind": "count"}, 1, 1),
    "histogram": Question(
        {"kind": "histogram"}, 2, 1, operator={"groups": ["north", "south"]}, numbers=2
    ),
    "multi_histogram": Question({"kind": "multi_histogram"}, 3, 3, ROOMS, numbers=3),
}

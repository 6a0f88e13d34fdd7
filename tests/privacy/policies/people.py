"""Protect one person who moves from collection to collection.

Source: Swellfish specification, section 2: a key that joins a collection follows the rule for
policies that are added.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.privacy.policies.life import NEVER, Life
from tests.privacy.policies.neighbours import Secret


@dataclass
class Somebody:
    """Hold which collection a person has, from which tick on."""

    moves: list[tuple[int, str]] = field(default_factory=list)

    def move(self, since: int, collection: str) -> None:
        """Plan a move; others that were to come then or later never do."""
        self.moves = [one for one in self.moves if one[0] < since] + [(since, collection)]

    def secrets(self, lives: Mapping[str, Life]) -> list[Secret]:
        """Return what protects the person: what has begun before a move goes on to its end, and
        what comes after it begins when all of that is over."""
        found: list[Secret] = []
        ends = [since for since, _ in self.moves[1:]] + [NEVER]
        for (since, collection), until in zip(self.moves, ends, strict=True):
            free = max([since, *(one.end + 1 for one in found if one.end >= since)])
            found += [
                one for one in lives[collection].secrets() if max(free, since) <= one.start < until
            ]
        return found

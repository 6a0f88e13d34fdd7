"""Neighbours of one person under policies, by the definition and by trying all of them.

Nothing here knows a formula of c(t) or delta(J): a secret is put at every place where it fits, and
what can change is read off. Source: Swellfish specification, sections 1.1 to 1.3.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, order=True)
class Secret:
    """Hide one activity within the ticks `start` to `end`; it takes `len(amounts)` ticks in a row
    and changes the k-th of them by up to `amounts[k]` units."""

    start: int
    end: int
    amounts: tuple[int, ...]
    activities: tuple[str, ...] = ()

    def placements(self) -> Iterator[dict[int, int]]:
        """Yield the changes of ticks, with the activity at each place where it fits."""
        for begin in range(self.start, self.end - len(self.amounts) + 2):
            yield {begin + place: amount for place, amount in enumerate(self.amounts) if amount}

    def is_open(self, tick: int) -> bool:
        """Return whether the tick lies within."""
        return self.start <= tick <= self.end


Person = Sequence[Secret]
"""All that one person hides, each once."""


@lru_cache(maxsize=100_000)
def most_by_tick(secret: Secret) -> dict[int, int]:
    """Return by how much each tick changes at most, wherever the activity is."""
    most: dict[int, int] = {}
    for placement in secret.placements():
        for tick, amount in placement.items():
            most[tick] = max(most.get(tick, 0), amount)
    return most


def ways_to_differ(person: Person, start: int, end: int) -> set[frozenset[int]]:
    """Return the sets of ticks from `start` to `end` in which neighbours can differ, without those
    that lie within another one."""
    ways: set[frozenset[int]] = {frozenset()}
    for secret in person:
        if secret.start > end or secret.end < start:
            continue
        inside = {
            frozenset(tick for tick in placement if start <= tick <= end)
            for placement in secret.placements()
        }
        ways = _largest(way | ticks for way in ways for ticks in _largest(inside))
    return ways


def most_ticks(person: Person, start: int, end: int) -> int:
    """Return in how many ticks from `start` to `end` neighbours differ at most."""
    return max(map(len, ways_to_differ(person, start, end)))


def worst_loss(person: Person, start: int, end: int, charges: Mapping[int, int]) -> int:
    """Return the most that ticks in which neighbours differ were charged together."""
    ways = ways_to_differ(person, start, end)
    return max(sum(charges.get(tick, 0) for tick in way) for way in ways)


def _largest(ways: Iterable[frozenset[int]]) -> set[frozenset[int]]:
    kept: list[frozenset[int]] = []
    for way in sorted(set(ways), key=len, reverse=True):
        if not any(way <= larger for larger in kept):
            kept.append(way)
    return set(kept)

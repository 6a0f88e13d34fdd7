"""An occurrence of a policy: for how long something is to be hidden, and how much of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Occurrence:
    """Hide that some ticks in a row were other than they were, anywhere within [start, end].

    Within the ticks `start` to `end`, both included, an adversary must not be able to tell whether
    up to `len(thresholds)` ticks in a row, anywhere inside, were other than they were: the first of
    them by up to `thresholds[0]` units, the second by up to `thresholds[1]`, and so on. Every day
    of a calendar rule is an occurrence of its own. The paper writes phi = (theta, T, J), with
    J = [start, end] in ticks and theta in units. Raises `ValueError` naming the field.

    >>> rising = Occurrence(start=0, end=3, thresholds=(1, 5))
    >>> rising.ticks, [rising.change_at(tick) for tick in range(-1, 5)]
    (4, [0, 1, 5, 5, 5, 0])

    Source: Swellfish specification, sections 1 and 3.
    """

    start: int
    end: int
    thresholds: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError(f"end: must not be before start, which is tick {self.start}")
        if not 1 <= len(self.thresholds) <= self.ticks:
            raise ValueError(
                f"thresholds: must be of 1 to {self.ticks} ticks, as many as the interval has"
            )
        if min(self.thresholds) < 0:
            raise ValueError("thresholds: must not be negative")

    @property
    def ticks(self) -> int:
        """Return |J|, how many ticks the interval has."""
        return self.end - self.start + 1

    @property
    def length(self) -> int:
        """Return T, how many ticks in a row may be other than they were."""
        return len(self.thresholds)

    def change_at(self, tick: int) -> int:
        """Return c_phi(t): by how many units it may change this tick, at most; 0 outside."""
        if not self.start <= tick <= self.end:
            return 0
        first = max(1, self.length - (self.end - tick))
        last = min(self.length, tick - self.start + 1)
        return max(self.thresholds[first - 1 : last])

    def change_ticks(self) -> Iterator[int]:
        """Yield the ticks from which on `change_at` may be another one."""
        yield from (self.start, self.end + 1)
        if len(set(self.thresholds)) > 1:
            yield from range(self.start, self.start + self.length)
            yield from range(self.end - self.length + 2, self.end + 1)

    def affected_in(self, start: int, end: int) -> int:
        """Return how many ticks from `start` to `end` it may change, at most."""
        common = min(self.end, end) - max(self.start, start) + 1
        return max(0, min(common, self.length))


def affected_ticks(start: int, end: int, occurrences: Iterable[Occurrence]) -> int:
    """Bound in how many ticks of [start, end] two neighbours differ: delta(J).

    Claim. delta(J) = min(|J|, sum over all occurrences phi of the person that overlap J of
    min(|J & J_phi|, T_phi)) is an upper bound: each occurrence is used at most once, and then
    changes at most T_phi ticks in a row, all within J_phi. The occurrence whose interval J is
    counts like the others. `occurrences` are all that overlap J, and maybe others.

    >>> short, long = Occurrence(2, 3, (10,)), Occurrence(3, 6, (22, 22))
    >>> affected_ticks(3, 6, [short, long]), affected_ticks(2, 3, [short, long])
    (3, 2)

    Source: Swellfish specification, section 4.
    """
    ticks, affected = end - start + 1, 0
    for occurrence in occurrences:
        affected += occurrence.affected_in(start, end)
        if affected >= ticks:
            return ticks
    return affected

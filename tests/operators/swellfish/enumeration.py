"""All the places where the pattern of an occurrence can be."""

from collections.abc import Sequence
from itertools import product
from random import Random

from fugu.operators.swellfish.policy import Occurrence


def random_occurrence(random: Random, ticks: int = 10) -> Occurrence:
    """Within so many ticks."""
    start = random.randrange(ticks)
    end = random.randrange(start, ticks)
    length = random.randrange(1, min(4, end - start + 1) + 1)
    return Occurrence(start, end, tuple(random.choices(range(9), k=length)))


def windows(occurrence: Occurrence) -> list[range]:
    """The ticks of the pattern, wherever it can start."""
    starts = range(occurrence.start, occurrence.end - occurrence.length + 2)
    return [range(start, start + occurrence.length) for start in starts]


def most_affected(start: int, end: int, occurrences: Sequence[Occurrence]) -> int:
    """The exact maximum of ticks from `start` to `end` in which neighbours differ."""
    inside = [
        {frozenset(tick for tick in window if start <= tick <= end) for window in windows(one)}
        for one in occurrences
    ]
    return max(len(frozenset().union(*places)) for places in product(*inside))

"""By how much an occurrence may change each tick of its interval."""

from dataclasses import dataclass
from itertools import accumulate

from fugu.operators.swellfish.policy import Policy

_EVERYWHERE = 2**62


@dataclass(frozen=True)
class Pattern:
    """Tell c_phi(t) as `Occurrence.change_at` does, at once, however many thresholds there are.

    `rising` are the largest of the first thresholds, `falling` the largest of those from each on;
    where all are the same there is one of either.

    >>> rising = Pattern((1, 5, 2), (1, 5, 5), (5, 5, 2))
    >>> [rising.change(tick, 4 - tick) for tick in range(5)]
    [1, 5, 5, 5, 2]
    """

    thresholds: tuple[int, ...]
    rising: tuple[int, ...]
    falling: tuple[int, ...]

    @staticmethod
    def of(policy: Policy, ticks: int) -> "Pattern":
        """Return the pattern of a policy in intervals of so many ticks."""
        largest = max(policy.thresholds)
        if min(policy.thresholds) == largest:
            return Pattern((largest,), (largest,), (largest,))
        thresholds = policy.thresholds_in(ticks)
        falling = tuple(accumulate(reversed(thresholds), max))[::-1]
        return Pattern(thresholds, tuple(accumulate(thresholds, max)), falling)

    def change(self, before: int, after: int) -> int:
        """Return the most that a tick may change that has so many others before and after it."""
        length = len(self.thresholds)
        first, last = max(0, length - 1 - after), min(length - 1, before)
        if first == 0:
            return self.rising[last]
        return self.falling[first] if last == length - 1 else max(self.thresholds[first : last + 1])

    def alike(self, before: int, after: int) -> tuple[int, int]:
        """Return for how many ticks before and after this one the change is the same, at least."""
        length = len(self.thresholds)
        if length == 1:
            return _EVERYWHERE, _EVERYWHERE
        within = min(before, after) >= length - 1
        return (before - length + 1, after - length + 1) if within else (0, 0)

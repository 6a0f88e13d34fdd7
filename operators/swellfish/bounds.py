"""Refuse changes of policies that ask for more than limits allow, whoever sends them."""

from collections.abc import Sequence
from dataclasses import dataclass

from fugu.operators.swellfish.cost import cost, stretches
from fugu.operators.swellfish.limits import Limits, Noise
from fugu.operators.swellfish.occurrences import Admitted
from fugu.operators.swellfish.policy import Policy
from fugu.operators.swellfish.temporal_sensitivity import Query
from fugu.operators.swellfish.zone import DAY

MOST_POLICIES = 100
_DAY = DAY * 1000
"""Milliseconds."""
_MOST_DAYS = 500_000
"""Limit the days that are looked at, of all policies together."""
_DAYS_OF_CONFIGURED = 35


@dataclass(frozen=True)
class Bounds:
    """Refuse changes that go beyond what a collection may ask for.

    What a change does not make more is not refused, whatever it is. Parameters: the limits, the
    query, how long ticks are, and how noise is written.
    """

    limits: Limits
    query: Query
    tick_milliseconds: int
    noise: Noise

    def require(
        self,
        before: Sequence[Admitted],
        after: Sequence[Admitted],
        added: Sequence[Policy],
        now: int,
    ) -> None:
        """Raise `ValueError`, with what it would cost, if a change at `now` adds too much.

        The cost is `cost.asked_for`, an upper bound, in the stretches that are looked at.
        """
        if added:
            self._require_short(longest([added], self.tick_milliseconds))
            self._require_few(before, after, now)
            if self.limits.demand is not None:
                self._require_cheap(before, after, now, self.limits.demand)

    def _require_short(self, ticks: int) -> None:
        most = self.limits.longest
        if ticks > most:
            raise ValueError(
                f"limits.interval: has intervals of up to {ticks:,} ticks where {most:,} are the "
                "most; write several shorter ones"
            )

    def _require_few(self, before: Sequence[Admitted], after: Sequence[Admitted], now: int) -> None:
        were, would_be = (
            len({one.policy.id for one in some if one.until > now}) for some in (before, after)
        )
        most = self.limits.policies
        if most is not None and would_be > max(most, were):
            raise ValueError(
                f"limits.policies: {would_be} policies would count where {most} are the most; "
                "remove some that are not needed"
            )

    def _require_cheap(
        self, before: Sequence[Admitted], after: Sequence[Admitted], now: int, demand: int
    ) -> None:
        looked_at = stretches(after, now, self.tick_milliseconds)
        days = sum(last - first for first, last in looked_at) * self.tick_milliseconds // _DAY
        if days * len(after) > _MOST_DAYS:
            raise ValueError(
                f"limits.noise: {len(after)} policies that begin in so many different years are "
                "too many to say what they would cost; let them begin sooner, or remove some"
            )
        was, would_be = (
            cost(some, self.query, looked_at, self.tick_milliseconds) for some in (before, after)
        )
        if would_be > max(demand, was):
            raise ValueError(
                f"limits.noise: would make noise of {self.noise.of(would_be)} where the collection "
                f"may cause {self.noise.of(demand)}; make theta, pattern or interval smaller"
            )
        added = demand if self.limits.added is None else self.limits.added
        if would_be - was > added:
            raise ValueError(
                f"limits.added: would add {self.noise.of(would_be - was)} of noise where one "
                f"change may add {self.noise.of(added)}; make theta, pattern or interval smaller"
            )


def usual(collections: Sequence[Sequence[Policy]], query: Query, tick_milliseconds: int) -> Limits:
    """Return limits for those who declare none.

    Noise: twice the most that any collection asks for as it is configured, or a whole contribution
    at every tick of a day, whichever is more; intervals: as long as the longest one, or a day.
    """
    day = -(-_DAY // tick_milliseconds)
    demand = day * query.largest_change
    for collection in collections:
        admitted = [Admitted(policy) for policy in collection]
        looked_at = stretches(admitted, 0, tick_milliseconds, _DAYS_OF_CONFIGURED)
        demand = max(demand, 2 * cost(admitted, query, looked_at, tick_milliseconds))
    return Limits(
        demand=demand,
        interval=max(day, longest(collections, tick_milliseconds)),
        policies=max(MOST_POLICIES, *(len(collection) for collection in collections)),
    )


def longest(collections: Sequence[Sequence[Policy]], tick_milliseconds: int) -> int:
    """Return how many ticks an interval of these policies has, at most; 0 where there are none."""
    policies = [policy for collection in collections for policy in collection]
    return max((policy.when.longest(tick_milliseconds) for policy in policies), default=0)

"""Limits on what changes of policies may make of a collection, whoever sends them."""

from collections.abc import Sequence
from dataclasses import dataclass

from fugu.operators.swellfish.cost import cost, stretches
from fugu.operators.swellfish.occurrences import Admitted
from fugu.operators.swellfish.plain_data import PlainData
from fugu.operators.swellfish.policy import Policy
from fugu.operators.swellfish.temporal_sensitivity import Query
from fugu.operators.swellfish.zone import DAY

MOST_POLICIES = 100
_MOST_DAYS = 500_000
"""Of all policies together that are looked at."""


@dataclass(frozen=True)
class Limits(PlainData):
    """Limit what one collection may ask for after a change.

    `demand` is the most that it may ask of any tick, delta(J) Delta_t in units, which divided by
    epsilon is the scale of the noise; `added`, the most that one change may add to that;
    `interval`, the most ticks of an interval, and `policies` how many may count at once. What a
    change does not make more is not refused, whatever it is. Raises `ValueError` naming the field.
    """

    demand: int
    added: int
    interval: int
    policies: int = MOST_POLICIES

    def __post_init__(self) -> None:
        for name, least in (("demand", 0), ("added", 0), ("interval", 1), ("policies", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: must be at least {least}")

    def within(self, other: "Limits") -> "Limits":
        """Return the smaller limits of the two."""
        return Limits(
            min(self.demand, other.demand),
            min(self.added, other.added),
            min(self.interval, other.interval),
            min(self.policies, other.policies),
        )


@dataclass(frozen=True)
class Noise:
    """Write demands as noise in the unit of the data: so much noise for a demand of 1."""

    of_one: float = 1.0
    unit: str = ""

    def of(self, demand: int) -> str:
        """Write the scale of the noise.

        >>> Noise(0.01, "kW").of(25_000)
        '250 kW'
        """
        return f"{demand * self.of_one:.4g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Bounds:
    """Refuse changes that go beyond the limits of a collection.

    Parameters: the limits, the query, how long ticks are, and how noise is written.
    """

    limits: Limits
    query: Query
    tick_milliseconds: int
    noise: Noise = Noise()

    def require(
        self,
        before: Sequence[Admitted],
        after: Sequence[Admitted],
        added: Sequence[Policy],
        now: int,
    ) -> None:
        """Raise `ValueError`, with what it would cost, if a change at `now` adds too much.

        The cost is `cost.asked_for`, an upper bound, over the days that are looked at.
        """
        if not added:
            return
        for policy in added:
            self._require_short(policy)
        many = [sum(one.until > now for one in admitted) for admitted in (before, after)]
        if many[1] > max(self.limits.policies, many[0]):
            raise ValueError(
                f"limits.policies: {many[1]} policies would count, and {self.limits.policies} may; "
                "remove some that are not needed"
            )
        self._require_cheap(before, after, now)

    def _require_short(self, policy: Policy) -> None:
        ticks = policy.when.longest(self.tick_milliseconds)
        if ticks > self.limits.interval:
            raise ValueError(
                f"policy {policy.id}: limits.interval: has intervals of up to {ticks:,} ticks "
                f"where {self.limits.interval:,} are the most; write several shorter ones"
            )

    def _require_cheap(
        self, before: Sequence[Admitted], after: Sequence[Admitted], now: int
    ) -> None:
        looked_at = stretches(after, now, self.tick_milliseconds)
        ticks = sum(last - first for first, last in looked_at)
        if ticks * self.tick_milliseconds // 1000 // DAY * len(after) > _MOST_DAYS:
            raise ValueError(
                f"limits.noise: {len(after)} policies that begin in so many different years are "
                "too many to say what they would cost; let them begin sooner, or remove some"
            )
        was, would_be = (
            cost(admitted, self.query, looked_at, self.tick_milliseconds)
            for admitted in (before, after)
        )
        if would_be > max(self.limits.demand, was):
            raise ValueError(
                f"limits.noise: would make noise of {self.noise.of(would_be)} where the collection "
                f"may cause {self.noise.of(self.limits.demand)}; make theta, pattern or interval "
                "smaller"
            )
        if would_be - was > self.limits.added:
            raise ValueError(
                f"limits.added: would add {self.noise.of(would_be - was)} of noise where one "
                f"change may add {self.noise.of(self.limits.added)}; make theta, pattern or "
                "interval smaller"
            )


def usual(collections: Sequence[Sequence[Policy]], query: Query, tick_milliseconds: int) -> Limits:
    """Return the limits where none are declared.

    Noise: twice the most that any collection asks for as it is configured, or a whole contribution
    at every tick of a day, whichever is more; intervals as long as the longest one, or a day.
    """
    day = -(-DAY * 1000 // tick_milliseconds)
    policies = [policy for collection in collections for policy in collection]
    longest = max((policy.when.longest(tick_milliseconds) for policy in policies), default=0)
    demand = day * query.largest_change
    for collection in set(map(tuple, collections)):
        admitted = [Admitted(policy) for policy in collection]
        looked_at = stretches(admitted, 0, tick_milliseconds)
        demand = max(demand, 2 * cost(admitted, query, looked_at, tick_milliseconds))
    return Limits(demand, demand, max(day, longest))

"""Limits on what changes of policies may make of a collection."""

from dataclasses import dataclass, fields, replace

LONGEST_INTERVAL = 2**20
"""Ticks, where nothing is declared."""


@dataclass(frozen=True)
class Limits:
    """Limit what one collection may ask for after a change.

    `demand` is the most that it may ask of any tick, delta(J) Delta_t in units, which divided by
    epsilon is the scale of the noise; `added`, the most that one change may add to that;
    `interval`, the most ticks of an interval, and `policies` how many may count at once. Where
    nothing is declared, nothing is limited but intervals. Raises `ValueError` naming the field.
    """

    demand: int | None = None
    added: int | None = None
    interval: int | None = None
    policies: int | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            if (getattr(self, limit.name) or 0) < 0:
                raise ValueError(f"{limit.name}: must not be negative")

    @property
    def longest(self) -> int:
        """Return how many ticks an interval that is added has, at most."""
        return LONGEST_INTERVAL if self.interval is None else self.interval

    def for_strangers(self) -> "Limits":
        """Return what strangers may fill where there are owners: half, so that these have room."""
        demand = None if self.demand is None else self.demand // 2
        return replace(self, demand=demand, policies=self.policies and self.policies // 2)

    def completed_by(self, others: "Limits") -> "Limits":
        """Return these limits, and the others where nothing is declared."""
        declared = {name: limit for name, limit in vars(self).items() if limit is not None}
        return replace(others, **declared)


UNDECLARED = Limits()


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


IN_UNITS = Noise()

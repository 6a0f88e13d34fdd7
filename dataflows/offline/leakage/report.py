"""Compute what leaks over time from a stream whose ticks all spend the same, by epsilon."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite

from fugu.operators.leakage.correlation import LeakageOverTime, TemporalCorrelation, user_level
from fugu.operators.leakage.inversion import (
    UnboundedLeakage,
    backward_in_words,
    epsilons_for,
    in_words,
    largest_epsilon,
)
from fugu.operators.mechanism import Floats


@dataclass(frozen=True)
class Limits:
    """Hold the limits of the leakages, however long the stream; infinite without a bound."""

    backward: float
    forward: float
    total: float
    window: float


@dataclass(frozen=True)
class Course:
    """Hold the leakage about every tick (and every window from a tick on) at one epsilon."""

    epsilon: float
    over_time: LeakageOverTime
    windows: tuple[float, ...]
    limits: Limits
    whole_stream: float
    meaning: str


@dataclass(frozen=True)
class Allowance:
    """Hold what every tick may spend so that the leakage is at most alpha; None: nothing above 0.

    `first`, `between` and `last` are for a stream of exactly the ticks shown, and for leakage about
    single ticks.
    """

    alpha: float
    every_tick: float | None
    refused: str | None
    first: float
    between: float | None
    last: float


@dataclass(frozen=True)
class Report:
    """Hold everything that `fugu leakage` says."""

    values: int
    backward_is: str
    ticks: int
    window: int
    bounded_below: float
    courses: tuple[Course, ...]
    allowance: Allowance | None

    def document(self) -> dict[str, object]:
        """Return the report for machines; null stands for infinite."""
        document = asdict(self)
        del document["bounded_below"]
        bound = self.bounded_below if isfinite(self.bounded_below) else None
        return {"bounded_for_epsilon_below": bound, **document}


def correlation_of(matrix: Floats, backward: Floats | None) -> tuple[TemporalCorrelation, str]:
    """Return the matrix with its backward one, and in words which that is."""
    given = None if backward is None else "--backward"
    return TemporalCorrelation.of(matrix, backward), backward_in_words(given)


def course(correlation: TemporalCorrelation, epsilon: float, ticks: int, window: int) -> Course:
    """Compute what leaks when each of `ticks` ticks spends `epsilon`."""
    limits = Limits(
        backward=correlation.backward.supremum(epsilon),
        forward=correlation.forward.supremum(epsilon),
        total=correlation.limit(epsilon),
        window=correlation.limit(epsilon, window),
    )
    spends = [epsilon] * ticks
    return Course(
        epsilon=epsilon,
        over_time=correlation.over(spends),
        windows=correlation.windows(spends, window),
        limits=limits,
        whole_stream=user_level(spends),
        meaning=in_words(window, window * epsilon, limits.total, limits.window),
    )


def allowance(correlation: TemporalCorrelation, alpha: float, ticks: int, window: int) -> Allowance:
    """Compute what may be spent, endlessly and on this many ticks."""
    every_tick, refused = None, None
    try:
        every_tick = largest_epsilon(correlation, alpha, window)
    except UnboundedLeakage as error:
        refused = str(error)
    epsilons = epsilons_for(correlation, alpha, ticks)
    between = epsilons[len(epsilons) // 2] if ticks > 2 else None
    return Allowance(alpha, every_tick, refused, epsilons[0], between, epsilons[-1])


def report(
    matrix: Floats,
    backward: Floats | None,
    epsilons: Sequence[float],
    ticks: int,
    window: int,
    alpha: float | None,
) -> Report:
    """Compute the report; `ValueError` names an option that cannot be used."""
    if backward is not None and len(backward) != len(matrix):
        raise ValueError(
            f"backward: has {len(backward)} values, but MATRIX has {len(matrix)}; "
            "both must be about the same values"
        )
    correlation, backward_is = correlation_of(matrix, backward)
    return Report(
        values=len(matrix),
        backward_is=backward_is,
        ticks=ticks,
        window=window,
        bounded_below=min(correlation.backward.bounded_below, correlation.forward.bounded_below),
        courses=tuple(course(correlation, epsilon, ticks, window) for epsilon in epsilons),
        allowance=None if alpha is None else allowance(correlation, alpha, ticks, window),
    )

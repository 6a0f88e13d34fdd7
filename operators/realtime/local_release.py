"""Real-time release in the local model: one clamped number per tick, each stream by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from fugu.operators.columns import digest_of
from fugu.operators.guarantee import (
    ANY_PRIOR,
    DEPENDENT_OTHERS,
    KEYED_HASH,
    RANGE,
    RAW_VALUES_SEEN,
    REFUSED,
    SAME_PEOPLE,
    SECRET,
    WINDOWS_INDEPENDENT,
    Guarantee,
    Neighbours,
    Point,
)
from fugu.operators.mechanism import Draws, Inputs, Releases, State
from fugu.operators.noise.grid import counted
from fugu.operators.noise.number_release import LARGEST_UNITS_PER_ONE
from fugu.operators.realtime.measurement import FILTER_WEIGHTS, beyond_windows
from fugu.operators.realtime.real_time_release import Presentation, RealTimeRelease
from fugu.operators.wevent.allocation import LARGEST_VALUE
from fugu.operators.whole_numbers import take_whole_numbers

_NUMBERS = Neighbours("stream", "number", "replaced")
_WIDTH = Point(
    "width",
    "numbers are clamped, so that neighbouring ones differ by at most {units:,} units, and there "
    "is at most one for each stream and tick",
)
_NOT_COVERED = (
    Point(
        "measured-ticks",
        "when records come, and in which ticks a stream has a value: both are public, and releases "
        "say which ticks were measured",
    ),
    RANGE,
    SAME_PEOPLE,
    DEPENDENT_OTHERS,
    FILTER_WEIGHTS,
    REFUSED,
    SECRET,
)


@dataclass(frozen=True, eq=False)
class LocalRealTimeRelease:
    """Release one noisy, filtered number per tick of each stream.

    Claim. All releases of a stream together are (epsilon, delta)-LDP: whatever numbers of the range
    it had at its ticks, no set of outputs is more than e^epsilon times as likely, plus delta, as
    under any others at the same ticks. With `period`, this holds for any so many ticks in a row. At
    which ticks a stream has a number is public.

    It is `RealTimeRelease` of one bin, with the width of the range as the sensitivity: see there
    for filter, budgets and `standard_error`.

    Parameters: `lower` and `upper`, the declared range as integers in fixed-point units; those of
    `RealTimeRelease`; `units_per_one`, how many units make 1 in what is published.
    Input: integers `(rows,)` that count units; those outside the range are clamped to it. Release:
    doubles `(rows,)`, as are annotations. State: that of `RealTimeRelease`.
    Raises `ValueError` naming the parameter, and, in `step`, for values that are not integers.

    >>> from fugu.operators.single_stream import released
    >>> release = LocalRealTimeRelease(lower=400, upper=2000, epsilon=5.0, delta=1e-6, horizon=2)
    >>> [tick.annotations["published"].tolist() for tick in released(release, [725] * 3)]
    [[True], [True], [False]]

    Source: real-time release specification.
    """

    lower: int
    upper: int
    epsilon: float
    delta: float
    horizon: int | None = None
    period: int | None = None
    decay: float | None = None
    weight: float | None = None
    presentation: Presentation = "none"
    units_per_one: int = 1
    shares: tuple[float, ...] = field(default=(), kw_only=True)
    tick_milliseconds: int | None = field(default=None, kw_only=True)
    series: RealTimeRelease = field(init=False, repr=False)

    kind: ClassVar[str] = "real_time_local"
    implementation: ClassVar[int] = 3

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if self.lower >= self.upper:
            raise ValueError(f"lower: must be below upper, which is {self.upper}")
        if max(-self.lower, self.upper, self.upper - self.lower) > LARGEST_VALUE:
            raise ValueError("lower, upper: must be within 2^44 units of 0 and of each other")
        if not 1 <= self.units_per_one <= LARGEST_UNITS_PER_ONE:
            raise ValueError(f"units_per_one: must be 1 to 10^12, not {self.units_per_one}")
        series = RealTimeRelease(
            bins=1,
            sensitivity=self.upper - self.lower,
            changed_bins=1,
            epsilon=self.epsilon,
            delta=self.delta,
            horizon=self.horizon,
            period=self.period,
            decay=self.decay,
            weight=self.weight,
            presentation=self.presentation,
            shares=self.shares,
            neighbours=_NUMBERS,
            tick_milliseconds=self.tick_milliseconds,
        )
        object.__setattr__(self, "series", series)

    def start(self, rows: int) -> State:
        """Return the state before the first tick: nothing was released or spent."""
        return self.series.start(rows)

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Clamp, measure what can be paid for, and filter; predict the rest."""
        clamped = np.clip(counted(inputs.values), self.lower, self.upper)
        after, releases = self.series.step(state, Inputs(clamped[:, None]), draws)
        return after, self._in_ones(releases)

    def skip(self, state: State) -> tuple[State, Releases]:
        """Publish the prediction of a tick without a number, for free."""
        after, releases = self.series.skip(state)
        return after, self._in_ones(releases)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return local differential privacy of a stream, or of any ticks of a period."""
        whole, [series] = self.period is None, self.series.guarantees()
        return (
            replace(
                series,
                notion="ldp" if whole else "w-event-ldp",
                adversary=ANY_PRIOR if whole else WINDOWS_INDEPENDENT,
                trust=RAW_VALUES_SEEN,
                assumptions=(_WIDTH.of(units=self.upper - self.lower), KEYED_HASH),
                not_covered=(*beyond_windows(self.period), *_NOT_COVERED),
            ),
        )

    def audit(self) -> Mapping[str, object]:
        """Return budget and noise, which is that of what is published."""
        deviation = self.series.noise_deviation / self.units_per_one
        return {
            **self.series.audit(),
            "standard deviation of the noise of the first value": deviation,
        }

    def law_digest(self) -> bytes:
        """Identify kind, implementation, range, measure, and all that `RealTimeRelease` has."""
        return digest_of(
            self.kind,
            self.implementation,
            self.lower,
            self.upper,
            self.units_per_one,
            self.series.law_digest(),
        )

    def _in_ones(self, releases: Releases) -> Releases:
        notes = dict(releases.annotations)
        notes["standard_error"] = notes["standard_error"][:, 0] / self.units_per_one
        return Releases(releases.values[:, 0] / self.units_per_one, notes, releases.kinds)

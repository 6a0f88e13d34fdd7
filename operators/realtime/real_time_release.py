"""Release series in real time: add noise at every tick, and filter what comes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum, sqrt
from typing import ClassVar, Literal, get_args

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats
from fugu.operators.columns import (
    chosen,
    digest_of,
    where_rows,
)
from fugu.operators.guarantee import (
    CONTRIBUTIONS,
    Guarantee,
    Neighbours,
)
from fugu.operators.mechanism import Array, Draws, Floats, Inputs, Integers, Releases, State
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.realtime import filter as filtering
from fugu.operators.realtime.account import (
    Account,
    Schedule,
    account_of,
    constant,
    paper_total,
    sharing,
    units_of_rho,
)
from fugu.operators.realtime.measurement import Measurement, real_time_guarantee
from fugu.operators.wevent.allocation import (
    LARGEST_BINS,
    LARGEST_VALUE,
    require_epsilon_and_delta,
    require_length,
    require_size,
    vectors,
)
from fugu.operators.wevent.strategy import kinds_of
from fugu.operators.whole_numbers import take_whole_numbers

Presentation = Literal["none", "integer", "non_negative"]


def require_presentation(presentation: Presentation) -> None:
    """Raise `ValueError` for a presentation that there is not."""
    if presentation not in get_args(Presentation):
        raise ValueError("presentation: must be none, integer or non_negative")


def presented(estimates: Floats, presentation: Presentation) -> Array:
    """Return estimates as they are published."""
    match presentation:
        case "integer":
            return np.rint(estimates).astype(np.int64)
        case "non_negative":
            return np.maximum(estimates, 0.0)
        case _:
            return estimates


LARGEST_CORRELATION = 0.9999
SMALLEST_DEVIATION = 2.0**-20
_FEWEST = 3


@dataclass(frozen=True)
class DeclaredModel:
    """Declare that series go back to their `mean` with a `correlation` from tick to tick, AR(1).

    `means` and `deviations` are of each series, in units. All of it must be public: known before,
    or estimated from what is public or was released. Whatever it says, no promise depends on it.

    >>> known = DeclaredModel.of_history([[10.0, 12.0, 15.0, 13.0, 11.0, 9.0, 10.0]])
    >>> [round(one, 3) for one in (*known.means, *known.deviations, known.correlation)]
    [11.429, 2.07, 0.558]

    Source: real-time release specification, sections 3 (history) and 6.
    """

    means: tuple[float, ...]
    deviations: tuple[float, ...]
    correlation: float

    def __post_init__(self) -> None:
        if not self.means or len(self.means) != len(self.deviations):
            raise ValueError("means, deviations: give one of each for every series")
        if not all(abs(one) <= LARGEST_VALUE for one in self.means):
            raise ValueError("mean: must be from -2^44 to 2^44 units, as figures are")
        if not all(SMALLEST_DEVIATION <= one <= LARGEST_VALUE for one in self.deviations):
            raise ValueError(
                "deviation: must be from 2^-20 to 2^44 units: it says how far figures usually are "
                "from their mean"
            )
        if not 0.0 <= self.correlation <= LARGEST_CORRELATION:
            raise ValueError(
                f"correlation: must be from 0 to {LARGEST_CORRELATION}, not {self.correlation}"
            )

    @classmethod
    def of_history(cls, series: Sequence[Sequence[float]]) -> "DeclaredModel":
        """Estimate from public values of each series: its mean, its deviation, and of all together
        the correlation of neighbours, with the correction of 1 / n for short series.

        Raise `ValueError` for series that are too short or do not move. Sums are rounded once, so
        that every machine finds the same.
        """
        require_history(series, len(series))
        means, deviations, products, squares = [], [], [], []
        for values in series:
            number = len(values)
            mean = fsum(values) / number
            apart = [value - mean for value in values]
            square = fsum(one * one for one in apart)
            if square <= 0.0:
                raise ValueError("history: a series never moves; declare deviation instead")
            means.append(mean)
            deviations.append(sqrt(square / (number - 1)))
            following = fsum(a * b for a, b in pairwise(apart))
            products.append(following / square + 1.0 / number)
            squares.append(number)
        together = fsum(n * r for n, r in zip(squares, products, strict=True)) / sum(squares)
        correlation = min(max(together, 0.0), LARGEST_CORRELATION)
        return cls(tuple(means), tuple(deviations), correlation)


def require_history(series: Sequence[Sequence[float]], number: int) -> None:
    """Raise `ValueError` unless there are equally many public numbers of so many series."""
    if len(series) != number or len(set(map(len, series))) > 1:
        raise ValueError(f"history: give equally many numbers of each of the {number} series")
    if len(series[0]) < _FEWEST:
        raise ValueError(f"history: give at least {_FEWEST} numbers of every series")
    if not all(abs(one) <= LARGEST_VALUE for values in series for one in values):
        raise ValueError("history: numbers must be from -2^44 to 2^44 units, as figures are")


Booleans = filtering.Booleans


@dataclass(frozen=True, eq=False)
class RealTimeRelease:
    """Release noisy vectors, made better by a filter that sees nothing else of the data.

    Claim. All ticks together are (epsilon, delta)-DP for everything one person contributes to them
    (user level), finite precision included. A tick is the true value with discrete Gaussian noise,
    its price rho is half the square of sensitivity over deviation, and prices add up to what
    (epsilon, delta) pays for by the exact account (`noise.gaussian`). It holds because a
    price depends on nothing but how many values were measured before, and in which ticks, which is
    public. What is published is post-processing of noisy values, by `filter`: an estimate that is
    on average no worse than the noisy value, and much better where noise is large.

    The filter is adaptive: it learns mean, variance and correlation of the series while it goes on,
    and takes a value that is far from what it predicts as it is. With a `weight`, every noisy value
    has this weight instead, and the prediction the rest; 1 publishes noisy values as they are
    (baseline). With `weights`, noisy values take these in turn: weights may follow time freely, and
    the budget never depends on them. A fixed weight below 1 can be far worse than the baseline
    where predictions are poor; with `decay` it falls with the precision.

    The budget is shared in one of three ways. `horizon`: equal parts for so many values; with
    `shares`, values take these shares in turn. None follow. `period`: the same, but a new budget
    begins after so many ticks, and any so many ticks in a row, not all, are (epsilon, delta)-DP
    together. `decay`: parts that get smaller by this factor with every value, for ever; the price
    is noise whose variance grows by 1 / decay with every value, until nothing can be measured.
    Or a `personal_cap` limits in how many ticks of an aligned period one person counts: then all
    ticks are measured alike, with noise for these few, and what one person does in a period is
    (epsilon, delta)-DP. Periods follow each other for ever.
    Values that cannot be paid for are not used: predictions are published instead
    (`budget_exhausted`), which say nothing new. So they are for ticks without a value: `skip`.

    Parameters: `bins`; `sensitivity` in units, by how much one person's contribution changes a bin
    at most; `changed_bins`, how many bins it changes at most (2 if it can move between bins);
    `epsilon` in nats and `delta`, for all ticks or a period; `horizon`, perhaps with `shares`, or
    `period`, `decay` or `personal_cap`, which says itself what changes (`sensitivity` is then what
    a contribution amounts to, whatever its sign); `weight` or `weights`; `history`, public
    values of each bin in units, equally many, with which the filter begins as if it had just seen
    them;
    `presentation`: of estimates as they are (`none`), rounded (`integer`), or at least 0
    (`non_negative`), none of which is fed back to the filter.
    Input: integers `(rows, bins)`. Release: doubles, or integers, `(rows, bins)`. `standard_error
    (rows, bins)` is that of the estimate, with an empirical coverage of 1.96 of it each way of 19
    ticks in 20, or more where noise hides how the series moves; on average over a long run, not
    where a level just changed, and not at spikes within the noise; in fewer where a short series
    rises and falls steeply (91 % of a day, measured). That of a prediction (`predicted`) grows with
    every tick that it is ahead, and holds for series that go back to their mean, wander or go on as
    they did (of generated random walks and ramps, 90 % and more, or 77 % where noise hides a
    trend). NaN: nothing is known. State: the filter, O(1) per bin, and `spent` in units of rho.
    Raises `ValueError` naming the parameter, and, in `step`, for values that are not integers or
    not `(rows, bins)`.

    >>> from fugu.operators.single_stream import released
    >>> release = RealTimeRelease(1, 1, 1, epsilon=5.0, delta=1e-6, horizon=100)
    >>> *_, last = released(release, [[500]] * 100)
    >>> last.values.round(1).tolist(), last.annotations["standard_error"].round(1).tolist()
    ([[498.3]], [[4.2]])
    >>> round(release.noise_deviation, 2), last.annotations["remaining_rho"].round(3).tolist()
    (9.8, [0.0])

    Source: real-time release specification; Zhang, Khalili and Liu 2022, corrected; continual
    release specification, section 4.
    """

    bins: int
    sensitivity: int
    changed_bins: int
    epsilon: float
    delta: float
    horizon: int | None = None
    period: int | None = None
    decay: float | None = None
    weight: float | None = None
    presentation: Presentation = "none"
    shares: tuple[float, ...] = field(default=(), kw_only=True)
    weights: tuple[float, ...] = field(default=(), kw_only=True)
    history: tuple[tuple[float, ...], ...] = field(default=(), kw_only=True)
    personal_cap: PersonalCap | None = field(default=None, kw_only=True)
    neighbours: Neighbours = field(default=CONTRIBUTIONS, kw_only=True)
    tick_milliseconds: int | None = field(default=None, kw_only=True)
    account: Account = field(init=False, repr=False)

    kind: ClassVar[str] = "real_time"
    implementation: ClassVar[int] = 3

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_size("bins", self.bins, LARGEST_BINS)
        require_size("sensitivity", self.sensitivity, LARGEST_VALUE)
        require_size("changed_bins", self.changed_bins, self.bins)
        require_length(self.tick_milliseconds)
        require_epsilon_and_delta(self.epsilon, self.delta)
        if self.weight is not None and not 0.0 < self.weight <= 1.0:
            raise ValueError(f"weight: must be above 0 and at most 1, not {self.weight}")
        if self.weights and self.weight is not None:
            raise ValueError("weights: take the place of weight")
        if not all(0.0 < weight <= 1.0 for weight in self.weights):
            raise ValueError("weights: must be above 0 and at most 1")
        if self.history:
            require_history(self.history, self.bins)
        require_presentation(self.presentation)
        account = account_of(
            self.epsilon,
            self.delta,
            share=self.shared,
            values=self._counted or self.period or self.horizon,
            largest_move=1 if self.personal_cap is None else self.personal_cap.largest_move,
        )
        object.__setattr__(self, "account", account)

    def start(self, rows: int) -> State:
        """Return the state before the first tick: nothing was released or spent."""
        return {
            **filtering.warm(rows, self.bins, self.history),
            "spent": np.zeros(rows, dtype=np.int64),
            "tick": np.zeros(rows, dtype=np.int64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Measure what can be paid for, and filter; predict the rest."""
        values = vectors(inputs.values, self.bins)
        steps, spent = self._due(state), self._spent(state)
        measured = self._pays(state, steps, spent)
        noisy = self._measurement.noisy(values, np.where(measured, steps, 0), draws)
        known = filtering.advance(self._filter(state), noisy, *self._precision(state, steps))
        if not measured.all():
            known = _chosen(measured, known, self._predicted(state, steps))
        charges = np.where(measured, self.schedule.charges(steps), 0)
        spent = (
            spent + charges
            if self.personal_cap is None
            else np.maximum(spent, self._counted * charges)
        )
        return self._settled(state, known, spent, measured)

    def skip(self, state: State) -> tuple[State, Releases]:
        """Publish the prediction of a tick without a value, for free."""
        nothing = np.zeros(len(state["tick"]), dtype=bool)
        known = self._predicted(state, self._due(state))
        return self._settled(state, known, self._spent(state), nothing)

    def left(self, state: State) -> Integers | None:
        """Return how many values of each row may still be measured; None where the budget begins
        anew with each period."""
        if self.period is not None or self.personal_cap is not None:
            return None
        pays = self._pays(state, self._due(state), state["spent"])
        return np.where(pays, self.account.values - self._measured_before(state), 0)

    def shared(self, budget: int) -> Schedule:
        """Return how precisely a budget in units of rho measures values."""
        if self.personal_cap is not None:
            given = (self.horizon, self.period, self.decay, self.shares or None)
            if any(part is not None for part in given):
                raise ValueError(
                    "personal_cap: takes the place of horizon, period, decay and shares"
                )
            return constant(budget, self.personal_cap.factor, self.personal_cap.counted)
        share = sharing(self.changed_bins, self.horizon, self.period, self.decay, self.shares)
        return share(budget)

    @property
    def budget(self) -> int:
        """Return what all ticks, or those of a period, may cost, in units of rho."""
        return self.account.budget

    @property
    def schedule(self) -> Schedule:
        """Return how precisely values are measured, one after the other."""
        return self.account.schedule

    @property
    def noise_deviation(self) -> float:
        """Return the deviation of the noise of the first value, in units."""
        return self._measurement.deviation(self.schedule.first)

    @property
    def _measurement(self) -> Measurement:
        return Measurement(self.sensitivity)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return user level DP of all ticks, or of those of a period."""
        return (
            real_time_guarantee(
                epsilon=self.epsilon,
                delta=self.delta,
                period=self.period,
                cap=self.personal_cap,
                bins=self.bins,
                changed=self.changed_bins,
                sensitivity=self.sensitivity,
                neighbours=self.neighbours,
                tick_milliseconds=self.tick_milliseconds,
                squares=self.account.squares,
                draws=self.schedule.changed * self.account.values,
                declared=bool(self.weights or self.history or self.shares)
                or self.weight not in (None, 1.0),
            ),
        )

    def audit(self) -> Mapping[str, object]:
        """Return budget and noise, and how much noise other accounts would ask for."""
        schedule, total = self.schedule, 2.0 * in_nats(self.budget)
        charge = int(schedule.charges(schedule.table[:1])[0])
        return {
            "budget in rho": in_nats(self.budget),
            "charge of the first value in rho": in_nats(charge),
            "values that the budget pays for": self.account.values,
            "a new budget after so many ticks": self.personal_cap.ticks
            if self.personal_cap
            else self.period,
            "standard deviation of the noise of the first value": self.noise_deviation,
            "noise variance by the bound of the paper, relative": (
                total / paper_total(self.epsilon, self.delta)
            ),
            "noise variance relative to an account in zero-concentrated DP": (
                units_of_rho(self.epsilon, self.delta) / self.budget
            ),
            "delta of finite precision, part of delta": float(self.account.reserved),
            "warning": self._measurement.warning(schedule.first),
        }

    def law_digest(self) -> bytes:
        """Identify kind, implementation and all parameters."""
        return digest_of(
            self.kind,
            self.implementation,
            self.bins,
            self.sensitivity,
            self.changed_bins,
            self.budget,
            self.horizon or 0,
            self.period or 0,
            (self.decay or 0.0).hex(),
            (self.weight or 0.0).hex(),
            self.presentation,
            *(share.hex() for share in self.shares),
            *(() if self.personal_cap is None else (self.personal_cap.identity(),)),
            *(() if not self.weights else ("weights", *(one.hex() for one in self.weights))),
            *(() if not self.history else ("history",)),
            *(one.hex() for values in self.history for one in values),
        )

    @property
    def _counted(self) -> int:
        """Return in how many ticks one person counts at most under the cap; 0 without one."""
        return 0 if self.personal_cap is None else self.personal_cap.counted

    def _due(self, state: State) -> Integers:
        return self.schedule.steps(self._measured_before(state))

    def _measured_before(self, state: State) -> Integers:
        """Return how many values were measured: those that the filter has taken in, but history."""
        return np.asarray(state["count"][:, 0] - (len(self.history[0]) if self.history else 0))

    def _spent(self, state: State) -> Integers:
        """Return what is spent of the budget of the tick that comes now."""
        if self.period is None:
            return state["spent"]
        return np.where(state["tick"] % self.period == 0, 0, state["spent"])

    def _pays(self, state: State, steps: Integers, spent: Integers) -> Booleans:
        """Return whether the account pays for values with these steps."""
        if self.personal_cap is not None:
            return steps > 0
        affordable = (steps > 0) & (spent + self.schedule.charges(steps) <= self.budget)
        if self.period is None:
            affordable &= self._measured_before(state) < self.account.values
        return affordable

    def _precision(self, state: State, steps: Integers) -> tuple[Floats, Floats | None]:
        """Return the variance of the noise, and the weight, of values with these steps."""
        some = np.maximum(steps, 1)[:, None]
        noise = self._measurement.variance(some)
        if self.weights:
            turn = np.array(self.weights)[self._measured_before(state)[:, None] % len(self.weights)]
            return noise, turn if self.decay is None else turn * (some / self.schedule.first)
        if self.weight is None or self.weight == 1.0 or self.decay is None:
            return noise, None if self.weight is None else np.full(some.shape, self.weight)
        return noise, self.weight * (some / self.schedule.first)

    def _predicted(self, state: State, steps: Integers) -> tuple[State, filtering.Told]:
        return filtering.skip(self._filter(state), *self._precision(state, steps))

    def _filter(self, state: State) -> State:
        return {name: state[name] for name in filtering.start(0, 0)}

    def _settled(
        self, state: State, known: tuple[State, filtering.Told], spent: Integers, measured: Booleans
    ) -> tuple[State, Releases]:
        after, told = known
        notes = {
            "published": measured.copy(),
            "predicted": ~measured,
            "budget_exhausted": ~self._pays(state, self._due(state), self._spent(state)),
            "standard_error": told.error,
            "spent_rho": spent / UNITS_PER_NAT,
            "remaining_rho": (self.budget - spent) / UNITS_PER_NAT,
        }
        return (
            {**after, "spent": spent.copy(), "tick": state["tick"] + 1},
            Releases(presented(told.estimate, self.presentation), notes, kinds_of(measured)),
        )


def _chosen(
    first: Booleans, one: tuple[State, filtering.Told], other: tuple[State, filtering.Told]
) -> tuple[State, filtering.Told]:
    """Choose row by row the one or the other."""
    told = filtering.Told(
        where_rows(first, one[1].estimate, other[1].estimate),
        where_rows(first, one[1].error, other[1].error),
    )
    return chosen(first, one[0], other[0]), told

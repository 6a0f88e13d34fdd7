"""Release in real time under a declared model, with noise whose shape suits the filter."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import fsum, isqrt
from typing import ClassVar, NamedTuple

import numpy as np

from fugu.operators.columns import copied, digest_of, where_rows
from fugu.operators.guarantee import CONTRIBUTIONS, Guarantee, Neighbours
from fugu.operators.mechanism import Draws, Floats, Inputs, Integers, Releases, State
from fugu.operators.noise.gaussian import VARIANCE
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.realtime.measurement import DECLARED, FILTER_WEIGHTS
from fugu.operators.realtime.real_time_release import (
    DeclaredModel,
    Presentation,
    presented,
    require_presentation,
)
from fugu.operators.totals.buffers import UNIT, Buffers
from fugu.operators.totals.fitted import UNMIXED
from fugu.operators.totals.precision import (
    ESTIMATES,
    PROOF_OF_ESTIMATES,
    Changes,
    Precision,
    measured_rows,
    total_guarantee,
)
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

_LONGEST_GAP = 2**30
"""Ticks after which a correlation of .9999 has nothing left."""


class Belief(NamedTuple):
    """Hold estimates of a figure and of its buffer, from their means, and how sure they are.

    `own` is the squared error of the figure, `cross` its product with that of the buffer, and
    `determinant` own * other - cross^2, with the squared error `other` of the buffer. No squared
    error is the difference of two: so none cancels or falls below 0, however large or small the
    noise is beside the figures.

    Source: Kalman 1960, for the deviation x of a figure and the buffer b, with a measurement x +
    weight * b + noise.
    """

    estimate: Floats
    held: Floats
    own: Floats
    cross: Floats
    determinant: Floats

    @classmethod
    def first(cls, variance: Floats) -> "Belief":
        """Return what is believed before the first measurement; the buffer is known to be empty."""
        none = np.zeros_like(variance)
        return cls(none, none, variance, none, none)

    @classmethod
    def of(cls, state: State) -> "Belief":
        """Return the belief that a state holds."""
        return cls(*(state[name] for name in cls._fields))

    def emptied(self) -> "Belief":
        """Return the belief once the buffer has been emptied, in public."""
        none = np.zeros_like(self.own)
        return Belief(self.estimate, none, self.own, none, none)

    def measured(
        self, found: Floats, weight: Floats | float, noise: Floats | float
    ) -> tuple["Belief", Floats]:
        """Return the belief after a measurement `found` with this variance of noise, and how far
        from its prediction that was, squared, relative to what was expected."""
        x, b, own, cross, determinant = self
        seen = own + weight * cross
        held = cross + weight * (cross * cross + determinant) / own
        spread = (seen * seen + weight * weight * determinant) / own + noise
        surprise = found - (x + weight * b)
        after = Belief(
            x + seen / spread * surprise,
            b + held / spread * surprise,
            (own * noise + weight * weight * determinant) / spread,
            (cross * noise - weight * determinant) / spread,
            determinant * (noise / spread),
        )
        return after, surprise * surprise / spread

    def gone_on(
        self, correlation: Floats | float, factor: Floats | float, variance: Floats | float
    ) -> "Belief":
        """Return the belief one measurement later: the buffer b becomes factor * b + x, and x
        itself correlation * x and what moves it, so that its variance stays."""
        x, b, own, cross, determinant = self
        kept = correlation * correlation
        moves = (1.0 - kept) * variance
        together = own + factor * cross
        other = (together * together + factor * factor * determinant) / own
        return Belief(
            correlation * x,
            factor * b + x,
            kept * own + moves,
            correlation * together,
            kept * factor * factor * determinant + moves * other,
        )


def left_of(correlation: float, ticks: Integers) -> Floats:
    """Return what is left of a correlation after so many ticks: a power, by multiplication alone.

    >>> left_of(0.5, np.array([1, 2, 5])).tolist()
    [0.5, 0.25, 0.03125]
    """
    rest, left, power = np.minimum(ticks, _LONGEST_GAP), np.ones(ticks.shape), correlation
    while rest.any():
        left = np.where(rest & 1, left * power, left)
        rest, power = rest >> 1, power * power
    return left


_HALVES = 10
"""Weights and distances of factors from 1 are 2^-(i / 2)."""
_TURNS = 2_000
"""Ticks of the filter after which its errors hardly change any more."""


@lru_cache(maxsize=64)
def suited(changes: Changes, correlation: float, noise: float) -> Buffers:
    """Return the buffers with which a filter errs least on average over a period.

    One buffer mixes all earlier values of a series into each value. Noise for the same promise is
    larger by the norm of the mixture, but it falls where the series hardly moves, and that is what
    a filter keeps. `noise` is the variance of noise on unmixed values, relative to that of the
    series. Whatever is chosen, the promise holds: what neighbours differ by is computed for it.

    Candidates are a grid of fractions of 2^32; arithmetic is elementwise, so that every machine
    chooses the same. For one tick counted of a long period no mixture is better by more than 1 %
    (`tests/operators/realtime/test_shaped_release.py`).

    Source: real-time release specification, section 6 (the filter); continual release
    specification, sections 2 and 3.
    """
    if changes.counted == changes.ticks:
        return UNMIXED
    slowest = 2 * (4 * changes.ticks).bit_length()
    weights = [isqrt(UNIT * UNIT >> half) for half in range(_HALVES)]
    factors = [UNIT - isqrt(UNIT * UNIT >> half) for half in range(1, slowest + 1)]
    tried = [UNMIXED, *(Buffers((w,), (f,)) for w in weights for f in factors)]
    weight = np.array([one.weights[0] for one in tried]) / UNIT
    factor = np.array([one.factors[0] for one in tried]) / UNIT
    norms = _norms(weight, factor, changes) / changes.counted
    errors = errors_of_a_period(correlation, weight, factor, noise * norms, changes.ticks)
    return tried[int(np.argmin(errors))]


def _norms(weight: Floats, factor: Floats, changes: Changes) -> Floats:
    """Return the squares of the largest norms of mixtures, as `totals.participation` does for one
    pair; in doubles, as nothing but accuracy depends on it."""
    power, gone, running, total = (np.zeros_like(weight) for _ in range(4))
    for tick in range(changes.ticks):
        power = weight.copy() if tick == 1 else power * factor
        running = running + (1.0 if tick == 0 else power)
        if tick == changes.counted:
            running = running - 1.0
        elif tick > changes.counted:
            gone = weight.copy() if tick == changes.counted + 1 else gone * factor
            running = running - gone
        total = total + running * running
    return total


def errors_of_a_period(
    correlation: float, weight: Floats, factor: Floats, noise: Floats, ticks: int
) -> Floats:
    """Return the squared error of the filter of mixed values, on average over a period of so many
    ticks, with which the buffer begins anew, for a series of variance 1 and noise of these
    variances.

    What is known of figures goes on; periods before it, of `_TURNS` ticks together, tell how much.
    """
    turns = min(ticks, _TURNS)
    belief, total, last = Belief.first(np.ones_like(noise)), np.zeros_like(noise), noise
    for period in range(-(-_TURNS // turns) + 1):
        belief, total = belief.emptied() if period else belief, np.zeros_like(noise)
        for _ in range(turns):
            known, _ = belief.measured(total, weight, noise)
            last = known.own
            total = total + last
            belief = known.gone_on(correlation, factor, 1.0)
    return (total + (ticks - turns) * last) / ticks


_NEVER = -(2**63)


@dataclass(frozen=True, eq=False)
class ShapedRelease:
    """Release figures under a personal cap, filtered by a declared model, with shaped noise.

    Claim. What one person contributes to an aligned period of the `personal_cap` is (epsilon,
    delta)-DP in all releases together, finite precision included, whatever the `model` says.
    Periods follow each other for ever.

    A tick mixes its figure with what a buffer remembers of those before it, rounds that to a grid,
    and adds discrete Gaussian noise; nothing else leaves. A Kalman filter for the model and the
    buffer, which sees noisy mixtures alone, makes estimates of them. The buffer is chosen such that
    its error is least on average over a period, with which it begins anew; where nothing is gained,
    figures are not mixed. Beside the same filter on unmixed figures the variance of errors is 1.3
    to 1.4 times (correlation .95) or 1.8 to 2.1 times (.99) smaller where a person counts in one
    tick of a long period and noise is 5 to 100 times the variance of the series, and no mixture
    does much better in real time. In short periods, and where people count in many ticks, there is
    less to gain.

    The filter does not learn: a model that is wrong costs accuracy. `standard_error` grows with how
    much farther than expected noisy mixtures are from predictions, on average so far.

    Parameters: `bins`; `sensitivity` in units, what one contribution amounts to at most, whatever
    its sign; `epsilon` in nats and `delta`; `personal_cap`, whose gaps gain nothing here; `model`,
    of every bin; `presentation` as of `RealTimeRelease`; `tick_milliseconds`. Input: integers
    `(rows, bins)`; of figures beyond `largest` the rest is cut off. Release: doubles or integers
    `(rows, bins)`, with `standard_error (rows, bins)`. State: the buffer, which is raw data, and
    what all readers know. Raises `ValueError` naming the parameter, and, in `step`, for values that
    are not integers or not `(rows, bins)`.

    >>> from fugu.operators.single_stream import released
    >>> cap = PersonalCap(at_most=1, ticks=1000)
    >>> model = DeclaredModel((500.0,), (20.0,), 0.99)
    >>> shaped = ShapedRelease(1, 1, 0.5, 1e-6, cap, model, tick_milliseconds=1000)
    >>> *_, last = released(shaped, [[510]] * 100)
    >>> last.values.round(1).tolist(), last.annotations["standard_error"].round(1).tolist()
    ([[503.1]], [[4.6]])

    Source: continual release specification, sections 2 to 4; real-time release specification,
    sections 2 and 6; Kalman 1960.
    """

    bins: int
    sensitivity: int
    epsilon: float
    delta: float
    personal_cap: PersonalCap
    model: DeclaredModel
    presentation: Presentation = "none"
    neighbours: Neighbours = field(default=CONTRIBUTIONS, kw_only=True)
    tick_milliseconds: int = field(kw_only=True)
    precision: Precision = field(init=False, repr=False)

    kind: ClassVar[str] = "shaped_real_time"
    implementation: ClassVar[int] = 1

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_size("bins", self.bins, LARGEST_BINS)
        require_size("sensitivity", self.sensitivity, LARGEST_VALUE)
        require_length(self.tick_milliseconds)
        require_epsilon_and_delta(self.epsilon, self.delta)
        require_presentation(self.presentation)
        if len(self.model.means) != self.bins:
            raise ValueError(f"model: must be of {self.bins} series, not {len(self.model.means)}")
        changes = Changes.of_period(self.personal_cap, self.sensitivity, self.bins)
        object.__setattr__(self, "precision", self._precision(changes))

    def _precision(self, changes: Changes) -> Precision:
        unmixed = Precision(UNMIXED, changes, self.epsilon, self.delta)
        signal = fsum(one * one for one in self.model.deviations) / self.bins
        chosen = suited(changes, self.model.correlation, unmixed.noise**2 / signal)
        return Precision(chosen, changes, self.epsilon, self.delta)

    @property
    def _unmixed(self) -> Precision:
        return Precision(UNMIXED, self.precision.changes, self.epsilon, self.delta)

    @property
    def buffers(self) -> Buffers:
        """Return how figures are mixed."""
        return self.precision.buffers

    @property
    def largest(self) -> int:
        """Return the largest figure of a tick that is not cut off."""
        return min(LARGEST_VALUE, self.precision.largest)

    def start(self, rows: int) -> State:
        """Return the state before the first tick: only the model is known."""
        shape = rows, self.bins
        return {
            "buffers": np.zeros((*shape, len(self.buffers)), dtype=np.int64),
            "measured": np.zeros(shape),
            **copied(Belief.first(np.tile(self._variance, (rows, 1)))._asdict()),
            "surprise": np.zeros(shape),
            "level": np.zeros((rows, 1)),
            "count": np.zeros(rows, dtype=np.int64),
            "tick": np.full(rows, _NEVER),
            "last": np.full(rows, _NEVER),
            "block": np.full(rows, _NEVER),
        }

    def elapse(self, state: State, ticks: Integers) -> State:
        """Note the tick that comes; it may begin a period of the cap."""
        return {**state, "tick": np.maximum(state["tick"], ticks)}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Measure the mixed figures of a tick, and filter them."""
        largest = self.largest
        values = np.clip(vectors(inputs.values, self.bins), -largest, largest)
        state = self._in_its_period(self._gone_on(state))
        index, buffers = self.buffers.encode(state["buffers"], values, self.precision.scale)
        measured = measured_rows(self.precision, index, np.arange(len(index)), draws)
        after = {**self._filtered(state, measured), "buffers": buffers, "measured": measured}
        fresh = np.ones(len(values), dtype=bool)
        notes = {
            "published": fresh,
            "predicted": ~fresh,
            "budget_exhausted": ~fresh,
            "standard_error": np.sqrt(after["own"] * self._surprise(after)),
            "spent_rho": np.full(len(values), self._rho),
            "remaining_rho": np.zeros(len(values)),
        }
        estimates = presented(self._means + after["estimate"], self.presentation)
        return after, Releases(estimates, notes, kinds_of(fresh))

    def _gone_on(self, state: State) -> State:
        """Return what is believed of this tick before it is measured.

        Ticks that nobody was in are not told: a figure moves in them, and the buffer does not.
        """
        begun, known = state["count"] > 0, state["tick"] != _NEVER
        gap = np.where(begun & known, np.maximum(1, state["tick"] - state["last"]), 1)
        correlation = left_of(self.model.correlation, gap)[:, None]
        factor = self.buffers.factors[0] / UNIT
        moved = Belief.of(state).gone_on(correlation, factor, self._variance)._asdict()
        believed = {name: where_rows(begun, one, state[name]) for name, one in moved.items()}
        return {**copied(state), **believed, "last": state["tick"].copy()}

    def _surprise(self, state: State) -> Floats:
        """Return how many times farther than expected mixtures were from predictions, squared; at
        least once."""
        return np.maximum(1.0, state["surprise"] / state["count"][:, None])

    @property
    def _means(self) -> Floats:
        return np.array(self.model.means)

    @property
    def _variance(self) -> Floats:
        deviations = np.array(self.model.deviations)
        return np.asarray(deviations * deviations)

    @property
    def _rho(self) -> float:
        """Return what all ticks of a period in which one person counts cost together."""
        return float(self.precision.loss.squares / 2.0 / VARIANCE)

    def _in_its_period(self, state: State) -> State:
        """Return every row in the period of its tick: buffers begin with nothing in each."""
        now = np.where(state["tick"] == _NEVER, 0, state["tick"]) // self.personal_cap.ticks
        begins = now > state["block"]
        if not begins.any():
            return state
        nothing = {name: np.zeros_like(state[name]) for name in ("buffers", "level")}
        begun = {**nothing, **Belief.of(state).emptied()._asdict()}
        emptied = {name: where_rows(begins, one, state[name]) for name, one in begun.items()}
        return {**copied(state), **emptied, "block": np.maximum(now, state["block"])}

    def _filtered(self, state: State, measured: Floats) -> State:
        """Take a noisy mixture into the belief, which is public.

        The mixture of a tick is x + w b + noise with x the figure and b the buffer of earlier ones.
        """
        weight, factor = self.buffers.weights[0] / UNIT, self.buffers.factors[0] / UNIT
        expected = self._means * (1.0 + weight * state["level"])
        apart = measured / self.precision.steps_of_unit - expected
        belief, surprise = Belief.of(state).measured(apart, weight, self.precision.noise**2)
        return {
            **copied(state),
            **belief._asdict(),
            "surprise": state["surprise"] + surprise,
            "level": factor * state["level"] + 1.0,
            "count": state["count"] + 1,
        }

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantee of a period."""
        return (
            total_guarantee(
                precision=self.precision,
                horizon=None,
                cap=self.personal_cap,
                neighbours=self.neighbours,
                tick_milliseconds=self.tick_milliseconds,
                accounting=ESTIMATES,
                proof=PROOF_OF_ESTIMATES,
                left_open=(FILTER_WEIGHTS, DECLARED),
            ),
        )

    @property
    def noise_deviation(self) -> float:
        """Return the deviation of the noise of a mixture, in units of a figure."""
        return self.precision.noise

    def audit(self) -> Mapping[str, object]:
        """Return noise and errors, and what the same filter makes of figures that are not mixed."""
        mine, plain = (self._error_of(one) for one in (self.precision, self._unmixed))
        return {
            "weight of the buffer, in units of 2^-32": self.buffers.weights[0],
            "factor of the buffer, in units of 2^-32": self.buffers.factors[0],
            "scale": self.precision.scale,
            "squared steps that neighbours differ by, at most": self.precision.squares,
            "wide draws": self.precision.wide,
            "standard deviation of the noise of a mixture": self.precision.noise,
            "standard error on average over a period, by the model": mine,
            "the same, of figures that are not mixed": plain,
            "largest figure that is not cut off": self.largest,
            "delta of finite precision, part of delta": float(self.precision.reserved),
        }

    def _error_of(self, precision: Precision) -> float:
        """Return the root mean square error by the model, over the ticks of a period and bins."""
        weight, factor = (
            np.array([numbers[0]]) / UNIT
            for numbers in (precision.buffers.weights, precision.buffers.factors)
        )
        ratios = precision.noise**2 / self._variance
        shares = errors_of_a_period(
            self.model.correlation, weight, factor, ratios, self.personal_cap.ticks
        )
        return float(np.sqrt(np.mean(shares * self._variance)))

    def law_digest(self) -> bytes:
        """Identify kind, implementation and all parameters."""
        changes, model = self.precision.changes, self.model
        return digest_of(
            self.kind,
            self.implementation,
            self.bins,
            changes.factor,
            changes.amount,
            *self.buffers.weights,
            *self.buffers.factors,
            self.buffers.guard_bits,
            self.precision.scale,
            int(self.precision.wide),
            self.presentation,
            self.personal_cap.identity(),
            *(one.hex() for one in (*model.means, *model.deviations, model.correlation)),
        )

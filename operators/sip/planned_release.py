"""Release bits by a public table, which says how many nats each belief may spend."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT, charge_of_ratio
from fugu.operators.columns import binding_digest
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.randomness import DrawScope, Secret, record_positions, unit_interval
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING
from fugu.operators.sip.guarantees import crr_guarantees, with_gaps
from fugu.operators.sip.integer_law import IntegerLaw
from fugu.operators.sip.kernels import SymbolLaw
from fugu.operators.sip.markov_model import MarkovModel, ordered_sum
from fugu.operators.sip.privacy_bound import LARGEST_EPSILON, PrivacyBound, PrivacyBounds
from fugu.operators.sip.proposals import IdentityKernel

POINTS = 403
"""The beliefs of the table, equally far apart from 0 to 1."""
SILENT = 0
"""The choice of a constant, which says nothing and costs nothing."""
_PARTS, _MOST_PARTS = 4, 28
"""Releases may spend so many quarters of the mean."""
_FEWEST_CONSTANT_PARTS, _MOST_CONSTANT_PARTS = 2, 12
_PRICES, _ROUNDS, _SETTLED = 14, 300, 1e-9
_STREAMS, _STEPS = 400, 400
_GAIN = 0.02
"""The share of the error of constant spending that a table must save to be worth it."""
_REMEMBERED = 64
_SAME_SPEND, _MEAN_SPEND = 1.002, 1.02


@dataclass(frozen=True, eq=False)
class SpendingPlan:
    """Hold a table from beliefs to epsilons, and what it does in the long run.

    Being silent while the belief is sure leaves nats for when it is not. The table minimises the
    long-run share of wrong releases plus a price for each nat, by relative value iteration on a
    grid of beliefs; the price is such that the mean of what is spent is at most `epsilon`. Grid and
    interpolation are approximate, so the table is then simulated with exact beliefs under the
    model, with a fixed seed, beside constant epsilons whose mean is no larger: `gains` says whether
    it is better than all of them. A table that gains may spend 2 % more than `epsilon` there.

    `choices (POINTS,)` are numbers of `epsilons`, of which the first is 0: silent. Errors are
    shares of wrong releases, and `spent` nats per release. All arithmetic has one order, so the
    table has the same bits on every machine. Privacy does not depend on it.

    >>> model = MarkovModel(np.array([0.1, 0.9]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> plan = plan_of(model, 1.0)
    >>> plan.gains, plan.error < 0.1 < plan.constant_error, plan.spent < 1.01
    (True, True, True)
    >>> int(plan.choices[0]) == SILENT, float(plan.epsilons[plan.choices[POINTS // 2]]) > 1.0
    (True, True)

    Source: symbol sampling specification, section 8.
    """

    epsilon: float
    epsilons: Floats
    choices: Integers
    error: float
    spent: float
    constant_error: float
    constant_spent: float

    @property
    def gains(self) -> bool:
        """Return whether the table saves more errors than its simulation may be off."""
        affordable = self.spent <= self.epsilon * _MEAN_SPEND
        return affordable and self.error < (1.0 - _GAIN) * self.constant_error

    @cached_property
    def largest(self) -> float:
        """Return the most nats that a release may spend."""
        return float(self.epsilons[self.choices].max())

    def chosen(self, likely: Floats) -> Integers:
        """Return the numbers of epsilons for beliefs in symbol 1."""
        return self.choices[_nearest(likely)]


def plan_of(model: MarkovModel, epsilon: float) -> SpendingPlan:
    """Return the plan that is to spend `epsilon` nats per release in the long run.

    Raises `ValueError` where the model has not two symbols, or for a bad epsilon.
    """
    if model.symbols != 2:
        raise ValueError(
            f"model: has {model.symbols} symbols, and spending is planned for 2 alone; write "
            "kind: crr"
        )
    PrivacyBound.of(epsilon)
    return _planned(model.prior.tobytes(), model.transition.tobytes(), float(epsilon))


@lru_cache(maxsize=_REMEMBERED)
def _planned(prior: bytes, transition: bytes, epsilon: float) -> SpendingPlan:
    """Plan once for equal numbers."""
    model = MarkovModel(np.frombuffer(prior), np.frombuffer(transition).reshape(2, 2))
    parts = [part * (epsilon / _PARTS) for part in range(_MOST_PARTS + 1)]
    epsilons = np.array([part for part in parts if part <= LARGEST_EPSILON])
    choices = _Grid.of(model, _Steps.of(epsilons)).cheapest(epsilon)
    return _simulated(model, epsilon, epsilons, choices)


@dataclass(frozen=True, eq=False)
class _Steps:
    """Hold e^epsilon and e^epsilon - 1 for each epsilon but the first, which is 0."""

    growth: Floats
    gain: Floats

    @classmethod
    def of(cls, epsilons: Floats) -> "_Steps":
        bounds = [PrivacyBound.of(epsilon) for epsilon in epsilons[1:].tolist()]
        growth = np.array([1.0, *(bound.growth for bound in bounds)])
        return cls(growth, np.array([1.0, *(bound.gain for bound in bounds)]))

    def at(self, likely: Floats, choice: Integers) -> "_Released":
        """Return what a release says of a bit that is 1 with this probability."""
        growth, gain = self.growth[choice], self.gain[choice]
        silent = choice == SILENT
        unlikely = 1.0 - likely
        first = np.maximum(unlikely, 1.0 - growth * unlikely)
        second = np.maximum(likely, 1.0 - growth * likely)
        total = gain + first + second
        right = (unlikely * (first + gain) + likely * (second + gain)) / total
        one = np.where(silent, 0.5, (second + gain * likely) / total)
        after_one = likely * (second + gain) / (second + gain * likely)
        after_zero = likely * first / (first + gain * unlikely)
        worst = np.maximum(
            np.maximum(
                (first + gain) / (first + gain * unlikely), (first + gain * unlikely) / first
            ),
            np.maximum(
                (second + gain) / (second + gain * likely), (second + gain * likely) / second
            ),
        )
        ratio = np.where(silent, 1.0, np.minimum(worst, growth))
        spent = charge_of_ratio(ratio).astype(np.float64) / UNITS_PER_NAT
        return _Released(
            np.where(silent, np.minimum(likely, unlikely), 1.0 - right),
            spent,
            one,
            np.where(silent, likely, after_one),
            np.where(silent, likely, after_zero),
        )


@dataclass(frozen=True, eq=False)
class _Released:
    """Hold the chance of a wrong release, its nats, the chance of a 1, and both posteriors."""

    error: Floats
    spent: Floats
    one: Floats
    after_one: Floats
    after_zero: Floats


@dataclass(frozen=True, eq=False)
class _Grid:
    """Hold costs and next beliefs, for each belief of the grid and each epsilon."""

    released: _Released
    places: tuple[Integers, Integers]
    weights: tuple[Floats, Floats]

    @classmethod
    def of(cls, model: MarkovModel, steps: _Steps) -> "_Grid":
        likely = (np.arange(POINTS) / (POINTS - 1))[:, None]
        released = steps.at(likely, np.arange(len(steps.growth)))
        nexts = [_next(model, after) for after in (released.after_zero, released.after_one)]
        scaled = [following * (POINTS - 1) for following in nexts]
        places = [np.minimum(at.astype(np.int64), POINTS - 2) for at in scaled]
        weights = [at - place for at, place in zip(scaled, places, strict=True)]
        return cls(released, (places[0], places[1]), (weights[0], weights[1]))

    def cheapest(self, epsilon: float) -> Integers:
        """Return the choices of the lowest price whose mean spending is at most `epsilon`."""
        free, dear = 0.0, 8.0 / epsilon
        worth = np.zeros(POINTS)
        found = np.zeros(POINTS, dtype=np.int64)
        for _ in range(_PRICES):
            price = (free + dear) / 2.0
            choices, worth = self._settled(price, worth)
            if self._mean(choices, self.released.spent) <= epsilon:
                dear, found = price, choices
            else:
                free = price
        return found

    def _settled(self, price: float, worth: Floats) -> tuple[Integers, Floats]:
        """Return the best choices at a price, and what each belief is worth then."""
        cost = self.released.error + price * self.released.spent
        for _ in range(_ROUNDS):
            value = cost + self._expected(worth)
            change = value.min(axis=1) - worth
            worth = worth + 0.5 * (change - change[0])
            if change.max() - change.min() < _SETTLED:
                break
        return (cost + self._expected(worth)).argmin(axis=1), worth

    def _mean(self, choices: Integers, cost: Floats) -> float:
        """Return the mean of a cost in the long run of these choices."""
        rows = np.arange(POINTS)
        own = cost[rows, choices]
        one = self.released.one[rows, choices]
        places = [place[rows, choices] for place in self.places]
        weights = [weight[rows, choices] for weight in self.weights]
        worth = np.zeros(POINTS)
        change = own
        for _ in range(8 * _ROUNDS):
            zero_then, one_then = (
                worth[place] + weight * (worth[place + 1] - worth[place])
                for place, weight in zip(places, weights, strict=True)
            )
            change = own + (1.0 - one) * zero_then + one * one_then - worth
            if change.max() - change.min() < _SETTLED:
                break
            worth = worth + 0.5 * (change - change[0])
        return float(change.max())

    def _expected(self, worth: Floats) -> Floats:
        """Return the mean worth of the next belief."""
        rise = np.append(worth[1:] - worth[:-1], 0.0)
        zero, one = (
            worth[place] + weight * rise[place]
            for place, weight in zip(self.places, self.weights, strict=True)
        )
        expected: Floats = zero + self.released.one * (one - zero)
        return expected


def _next(model: MarkovModel, likely: Floats) -> Floats:
    """Return P(next symbol is 1) from P(current symbol is 1)."""
    stays, comes = float(model.transition[1, 1]), float(model.transition[0, 1])
    return np.asarray((1.0 - likely) * comes + likely * stays)


def _nearest(likely: Floats) -> Integers:
    """Return the number of the nearest belief of the grid."""
    return np.asarray(np.floor(likely * (POINTS - 1) + 0.5), dtype=np.int64)


def _simulated(
    model: MarkovModel, epsilon: float, epsilons: Floats, choices: Integers
) -> SpendingPlan:
    """Simulate a table and constant epsilons with exact beliefs and the same words."""
    steps, streams = _Steps.of(epsilons), np.arange(_STREAMS)
    last = min(_MOST_CONSTANT_PARTS, len(epsilons) - 1)
    constants = np.arange(_FEWEST_CONSTANT_PARTS, last + 1)
    scope = DrawScope(Secret(bytes(32)), "simulation", "planned_crr", 1, bytes(32))
    keys = [b"stream %d" % stream for stream in streams.tolist()]
    draws = scope.draws(keys, record_positions("simulation", 0, [0] * _STREAMS))
    words = draws.words("releases", [b""] * _STREAMS, count=_STEPS)[:, 0]
    uniforms = unit_interval(words)
    likely = np.full((len(constants) + 1, _STREAMS), model.prior[1])
    errors, spent, counted = np.zeros(likely.shape), np.zeros(likely.shape), 0
    always = np.broadcast_to(constants[:, None], likely[1:].shape)
    for step in range(_STEPS):
        some = steps.at(likely[1:], always)
        useful = some.error < np.minimum(likely[1:], 1.0 - likely[1:])
        choice = np.concatenate([choices[_nearest(likely[:1])], np.where(useful, always, SILENT)])
        released = steps.at(likely, choice)
        if step >= _STEPS // 4:
            errors, spent, counted = errors + released.error, spent + released.spent, counted + 1
        after = np.where(uniforms[:, step] < released.one, released.after_one, released.after_zero)
        likely = _next(model, after)
    error = ordered_sum(errors.T) / (counted * _STREAMS)
    nats = ordered_sum(spent.T) / (counted * _STREAMS)
    affordable = nats[1:] <= epsilon * _SAME_SPEND
    best = 1 + int(np.where(affordable, error[1:], np.inf).argmin())
    if not affordable.any():
        best = 1
    return SpendingPlan(
        epsilon,
        epsilons,
        choices,
        float(error[0]),
        float(nats[0]),
        float(error[best]),
        float(nats[best]),
    )


@dataclass(frozen=True, eq=False)
class PlannedRelease(ConditionalRandomizedResponse):
    """Release a bit per record, and spend most where the belief is least sure.

    A public table, fixed when the mechanism is configured, says for each belief how many nats its
    release may spend (`spending_plan`): none while the belief is sure, more than the mean where it
    is not. It is adopted only where a simulation at construction shows fewer wrong releases than
    constant epsilons of no larger mean; else this is plain conditional randomized response with
    `epsilon`, and says so (`plan`).

    Claim. What a release may spend is a function of the releases before it, so every release leaks
    at most that much relative to the declared model, and leakages add up whatever path releases
    took: a stream that spent E nats satisfies Sequence Information Privacy (SIP) with E relative to
    the model, and 2 E for any prior or correlation. A single release may leak `most` nats.
    `epsilon` is the *mean* under the model alone, of records that are one step apart: the table may
    spend a fiftieth more. With `gaps` beliefs age between records, are less sure, and cost more, up
    to `most` for each. What a stream may spend in its life is bounded by the total of a `Budgeted`
    mechanism around it.

    Parameters: `model`, a dense chain over 2 symbols; `epsilon`, the mean nats per release without
    gaps, 0 < epsilon <= 50; `gaps` as in conditional randomized response. There is no distance,
    mode or kernel to choose. Input, release, annotations and state are those of conditional
    randomized response.

    Raises `ValueError` for another alphabet or kind of chain, a bad epsilon, or another choice.

    >>> model = MarkovModel(np.array([0.1, 0.9]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> planned = PlannedRelease(model, epsilon=1.0)
    >>> planned.plan is not None, planned.most
    (True, 2.5)
    >>> planned.release_law(planned.start(1))[0].round(3).tolist()
    [[0.0, 1.0], [0.0, 1.0]]

    Source: symbol sampling specification, section 8; SIP specification, section 7 (budgets that
    follow past releases).
    """

    kind: ClassVar[str] = "planned_crr"
    implementation: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if (self.distance, self.mode, self.kernel) != (HAMMING, "optimal", "heuristic"):
            raise ValueError(
                "planned_crr: has no distance, mode or kernel to choose; leave them out"
            )
        if type(self.model) is not MarkovModel:
            raise ValueError(
                "model: spending is planned for a matrix of first order alone; write kind: crr"
            )
        super().__post_init__()
        self.law(self.model.prior[:, None])

    @cached_property
    def plan(self) -> SpendingPlan | None:
        """Return the table; None where constant spending is as good, and the mechanism is plain."""
        made = self.simulated
        return made if made.gains else None

    @cached_property
    def simulated(self) -> SpendingPlan:
        """Return the table and what its simulation says, whether it is adopted or not."""
        assert isinstance(self.model, MarkovModel)
        return plan_of(self.model, self.epsilon)

    @property
    def most(self) -> float:
        """Return the most nats that one release may leak."""
        return self.epsilon if self.plan is None else self.plan.largest

    @cached_property
    def largest_charge(self) -> int:
        return PrivacyBound.of(self.most).charge

    def law(self, belief: Floats, doubt: Floats | None = None) -> SymbolLaw:
        """Return the law for each belief at the epsilon of the table."""
        if self.plan is None:
            return super().law(belief, doubt)
        if doubt is None:
            doubt = np.full(belief.shape[1], self.doubts[0])
        choice = self.plan.chosen(belief[1])
        silent = choice == SILENT
        proposal = IdentityKernel().propose(belief).silenced(silent, belief.argmax(axis=0))
        bounds = self._bounds.at(choice)
        return IntegerLaw.of(belief, proposal, bounds, bounds.reserve, doubt)

    def guarantees(self) -> tuple[Guarantee, ...]:
        promised = crr_guarantees(epsilon=self.most)
        return promised if self.gaps is None else with_gaps(promised, self.gaps)

    def audit(self) -> Mapping[str, object]:
        made = self.simulated
        return {
            **super().audit(),
            "planned spending": "adopted" if made.gains else "not adopted: as crr with epsilon",
            "share of wrong releases by the plan, and by constant spending (simulated)": [
                made.error,
                made.constant_error,
            ],
            "nats per release by the plan, and by constant spending (simulated)": [
                made.spent,
                made.constant_spent,
            ],
            "most nats of one release": self.most,
        }

    def law_digest(self) -> bytes:
        plan = self.plan
        if plan is None:
            return binding_digest(super().law_digest(), "constant")
        table = plan.epsilons.astype("<f8").tobytes(), plan.choices.astype("<i8").tobytes()
        return binding_digest(super().law_digest(), *table)

    @cached_property
    def _bounds(self) -> PrivacyBounds:
        """Return what each epsilon of the table allows; the first, which is not used, as any."""
        assert self.plan is not None
        each = [PrivacyBound.of(epsilon) for epsilon in self.plan.epsilons[1:].tolist()]
        return PrivacyBounds.of([each[0], *each], self.model.symbols)

"""Choose the charges of coming ticks together, because calendars are public."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, chain
from typing import Any, ClassVar

import numpy as np

from fugu.operators.columns import objects
from fugu.operators.mechanism import Array, Floats, State
from fugu.operators.swellfish.interval_strategies import Books, UnicornPS
from fugu.operators.swellfish.ledger import Ledgers
from fugu.operators.swellfish.relevance import Interval, Relevance, Timeline
from fugu.operators.swellfish.sweep import Stretch
from fugu.operators.wevent.allocation import Offer

_DIGEST = 16


@dataclass(frozen=True)
class Plan:
    """Hold charges of the ticks from `first` on, in runs of ticks that are charged the same.

    `policies` identifies the changes of policies that it was made with: after another one, it
    holds no longer. Charges are whole units of 2^-40 nat. Raises `ValueError` for runs of no
    ticks and for negative charges.

    >>> plan = Plan(10, digest_of_changes(b""), ticks=(2, 3), charges=(50, 20))
    >>> [plan.charge(tick) for tick in (9, 10, 11, 12, 14, 15)]
    [0, 50, 50, 20, 20, 0]
    >>> Plan.decoded(plan.encoded()) == plan, plan.holds(14, b""), plan.holds(15, b"")
    (True, True, False)
    """

    first: int
    policies: bytes
    ticks: tuple[int, ...]
    charges: tuple[int, ...]
    _ends: Sequence[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.ticks) != len(self.charges) or min(self.ticks, default=1) < 1:
            raise ValueError("plan: must have a charge for each run of one tick or more")
        if min(self.charges, default=0) < 0:
            raise ValueError("plan: must have no negative charges")
        object.__setattr__(self, "_ends", tuple(accumulate(self.ticks, initial=self.first))[1:])

    def holds(self, tick: int, changes: bytes) -> bool:
        """Return whether it is about this tick, under the policies after these changes."""
        end = self._ends[-1] if self._ends else self.first
        return self.first <= tick < end and self.policies == digest_of_changes(changes)

    def charge(self, tick: int) -> int:
        """Return what a tick is to be charged; 0: nothing is planned."""
        run = bisect_right(self._ends, tick)
        return self.charges[run] if self.first <= tick and run < len(self.charges) else 0

    def until(self, end: int) -> "Plan":
        """Return its part before tick `end`."""
        runs = [
            (min(ticks, end - (last - ticks)), charge)
            for ticks, last, charge in zip(self.ticks, self._ends, self.charges, strict=True)
            if last - ticks < end
        ]
        ticks, charges = zip(*runs, strict=True) if runs else ((), ())
        return Plan(self.first, self.policies, ticks, charges)

    def encoded(self) -> bytes:
        """Return it as bytes."""
        numbers = [self.first, *self.ticks, *self.charges]
        return self.policies + np.array(numbers, dtype="<i8").tobytes()

    @staticmethod
    @lru_cache(maxsize=64)
    def decoded(content: bytes) -> "Plan":
        """Return the plan that `encoded` gave; `ValueError` for anything else."""
        runs, rest = divmod(len(content) - _DIGEST - 8, 16)
        if runs < 0 or rest:
            raise ValueError("plan: must be a digest, the first tick, runs of ticks and charges")
        first, *numbers = np.frombuffer(content, dtype="<i8", offset=_DIGEST).tolist()
        return Plan(first, content[:_DIGEST], tuple(numbers[:runs]), tuple(numbers[runs:]))


@lru_cache(maxsize=64)
def digest_of_changes(changes: bytes) -> bytes:
    """Identify changes of policies, in 16 bytes."""
    return blake2b(changes, digest_size=_DIGEST).digest()


_LEAST, _MOST = 2.0**-10, 2.0**10
"""Tangents are at multiples of even shares between these."""
_FIRST = (0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0)
_ROUNDS, _STEPS = 12, 100_000
"""No more programmes are solved, and none by more steps of the simplex method."""
_GAP, _GAP_OF_EACH = 1e-3, 0.1
"""By how much tangents may be below the objective: all together, and each."""
_NEVER_NOTHING = 1e-4
"""So much of all shares is even."""


@dataclass(frozen=True)
class Limit:
    """Let the `affected` largest shares of its ticks add up to 1 at most.

    `members` has the number of each variable, and how many ticks have it for their share; `spent`
    has shares that are given, and how many ticks have each.
    """

    affected: int
    members: Sequence[tuple[int, int]]
    spent: Sequence[tuple[float, int]] = ()


def least_noise(weights: Sequence[float], limits: Sequence[Limit]) -> Floats:
    """Return shares x >= 0 that minimise the sum of weights / x under all limits.

    Claim. The sum of the d largest of some x_t is at most 1 if and only if there are l >= 0 and
    u_t >= 0 with d l + sum of u_t <= 1 and u_t >= x_t - l. For d l + sum of (x_t - l)+ is at least
    the sum of any d of them, and for l the d-th largest it is that of the d largest. So limits are
    linear. The objective is convex, and replaced by tangents; more of them are added where the
    solution is, until it is within a thousandth of what the tangents say, which is a lower bound,
    and each term within a tenth.

    Every variable must be in a limit. Zeros are returned where HiGHS, which solves it, finds no
    solution. The last digits may differ between machines and versions.

    >>> shares = least_noise([1.0, 4.0], [Limit(2, [(0, 1), (1, 1)])])
    >>> shares.round(1).tolist()
    [0.3, 0.7]

    Source: R. T. Rockafellar, S. Uryasev, "Optimization of conditional value-at-risk", Journal of
    Risk 2, 2000 (sums of the largest as linear programmes); J. E. Kelley, "The cutting-plane method
    for solving convex programs", Journal of SIAM 8, 1960.
    """
    even = np.ones(len(weights))
    for limit in limits:
        for variable, _ in limit.members:
            even[variable] = min(even[variable], 1.0 / limit.affected)
    cost = np.array(weights) / even
    cost /= cost.sum()
    coefficients, bounds = _linear(limits, even)
    tangents = np.tile(np.array(_FIRST)[:, None], len(cost))
    multiples = np.zeros(len(cost))
    for _ in range(_ROUNDS):
        if (solved := _solved(cost, coefficients, bounds, tangents)) is None:
            break
        multiples, least = solved
        lower = np.maximum(_LEAST, tangents.min(axis=0) / 4.0)
        new = np.clip(multiples, lower, _MOST)
        missed = 1.0 / new - (2.0 / tangents - multiples / tangents**2).max(axis=0)
        if cost @ missed <= _GAP * least and np.all(missed * new <= _GAP_OF_EACH):
            break
        tangents = np.vstack([tangents, new])
    if not multiples.any():
        return multiples
    return np.asarray(((1.0 - _NEVER_NOTHING) * multiples + _NEVER_NOTHING) * even)


def require_solver() -> None:
    """Raise `ValueError` where SciPy is not installed."""
    try:
        import scipy.optimize  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError(
            "kind: unicorn_plan needs SciPy; pip install scipy, or use unicorn_ps"
        ) from None


def _linear(limits: Sequence[Limit], even: Floats) -> tuple[Any, Floats]:
    """Return rows and bounds of limits; columns: variables, tangents, then l and u of each."""
    cells: list[tuple[int, int, float]] = []
    bounds: list[float] = []
    column = 2 * len(even)
    for limit in limits:
        limited, level = len(bounds), column
        cells.append((limited, level, float(limit.affected)))
        bounds.append(1.0)
        column += 1
        for variable, share, ticks in chain(
            ((variable, 0.0, ticks) for variable, ticks in limit.members),
            ((None, share, ticks) for share, ticks in limit.spent),
        ):
            row, above = len(bounds), column
            cells += [(limited, above, float(ticks)), (row, above, -1.0), (row, level, -1.0)]
            if variable is not None:
                cells.append((row, variable, even[variable]))
            bounds.append(-share)
            column += 1
    return _sparse(cells, len(bounds), column), np.array(bounds)


def _solved(
    cost: Floats, coefficients: Any, bounds: Floats, tangents: Floats
) -> tuple[Floats, float] | None:
    """Return multiples of even shares, and the objective in which 1 / x is its tangents; None if
    none are found in time."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    size, columns = len(cost), coefficients.shape[1]
    at = tangents.ravel()
    rows, variables = np.arange(len(at)), np.tile(np.arange(size), len(tangents))
    values = np.concatenate([-1.0 / at**2, -np.ones(len(at))])
    places = np.concatenate([rows, rows]), np.concatenate([variables, size + variables])
    below = _sparse_of(values, places, (len(at), columns))
    objective = np.zeros(columns)
    objective[size : 2 * size] = cost
    solved = linprog(
        objective,
        A_ub=vstack([coefficients, below]),
        b_ub=np.concatenate([bounds, -2.0 / at]),
        bounds=(0.0, None),
        method="highs-ds",
        options={"maxiter": _STEPS},
    )
    if solved.status != 0:
        return None
    return np.asarray(solved.x[:size]), float(solved.fun)


def _sparse(cells: Sequence[tuple[int, int, float]], rows: int, columns: int) -> Any:
    row, column, value = (np.array(part) for part in zip(*cells, strict=True))
    return _sparse_of(value, (row, column), (rows, columns))


def _sparse_of(values: Array, places: tuple[Array, Array], shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    return csr_array((values, places), shape=shape)


TICKS_AHEAD = 4_000
"""A fortnight is 2,016 ticks of ten minutes: it fits, wherever it begins in the first half."""
LARGEST_STRETCHES, LARGEST_OPEN = 500, 5_000
"""No plan looks further ahead: open intervals are added up over stretches."""
_RUNS = 50
"""So many different charges of an interval are told apart, of those that are spent."""
Stretches = Sequence[Stretch[Relevance]]


def foreseen(timeline: Timeline, changes: bytes, first: int, ticks: int = TICKS_AHEAD) -> Stretches:
    """Return what is asked of so many ticks, in stretches of which the same is asked; of fewer
    ticks where these would be too many for a programme.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> [(one.first, one.last, one.value.sensitivity) for one in foreseen(HOUSEHOLD, b"", 0, 7)]
    [(0, 0, 0), (1, 1, 100), (2, 2, 320), (3, 5, 220), (6, 6, 0)]
    """
    found: list[Stretch[Relevance]] = []
    still_open = 0
    for tick in range(first, first + ticks):
        relevance = timeline.relevance(tick, changes)
        if found and found[-1].value == relevance:
            found[-1] = Stretch(found[-1].first, tick, relevance)
            continue
        still_open += len(relevance.intervals)
        if found and (len(found) == LARGEST_STRETCHES or still_open > LARGEST_OPEN):
            break
        found.append(Stretch(tick, tick, relevance))
    return found


def planned_charges(stretches: Stretches, ledgers: Ledgers, cap: int) -> list[int]:
    """Return what every tick of each stretch is to be charged, in units; 0: nothing is relevant.

    They minimise the sum of Delta_t / e_t, the expected size of all noise, under the limits of all
    intervals: the delta(J) largest charges of each add up to the cap at most. `ledgers`, one book,
    are those that are open at the first tick, and what they hold is spent.

    Claim. Nothing is lost by equal charges within a stretch. Its ticks are in the same intervals
    and have the same sensitivity. So limits and objective are the same if charges are exchanged
    among them, and both are convex: the mean over all exchanges is no worse.

    Ticks of an interval beyond the last stretch count as one more stretch of that interval alone,
    with its mean sensitivity so far; otherwise nothing would be left for them. No guarantee depends
    on any of this, since ledgers are asked again at every charge.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> nothing = Ledgers.decoded([b""])
    >>> charges = planned_charges(foreseen(HOUSEHOLD, b"", 0, 11), nothing, cap=1000)
    >>> [len(charges), charges[0], charges[-1]]
    [7, 0, 0]
    """
    groups = [_Group.of(stretch) for stretch in stretches]
    relevant = [place for place, group in enumerate(groups) if group.sensitivity]
    variables = [groups[place] for place in relevant]
    variables += _rests(variables, stretches[-1].last) if relevant else []
    charges = [0] * len(stretches)
    if variables:
        weights = [group.ticks * group.sensitivity for group in variables]
        shares = least_noise(weights, _limits(variables, ledgers, cap)).tolist()
        for place, share in zip(relevant, shares, strict=False):
            charges[place] = int(share * cap)
    return charges


@dataclass(frozen=True)
class _Group:
    """Hold ticks that are to be charged the same."""

    ticks: int
    sensitivity: float
    intervals: Sequence[Interval]

    @staticmethod
    def of(stretch: Stretch[Relevance]) -> "_Group":
        asked = stretch.value
        sensitivity = asked.sensitivity if asked.intervals else 0
        return _Group(stretch.last - stretch.first + 1, sensitivity, asked.intervals)


def _members(groups: Sequence[_Group]) -> Mapping[Interval, Sequence[int]]:
    """Return the numbers of the groups that are in each interval."""
    members: dict[Interval, list[int]] = {}
    for number, group in enumerate(groups):
        for interval in group.intervals:
            members.setdefault(interval, []).append(number)
    return members


def _rests(groups: Sequence[_Group], last: int) -> list[_Group]:
    """Return what is left of intervals that go on after the last tick."""
    rests = []
    for interval, members in _members(groups).items():
        if interval.end > last:
            ticks = sum(groups[number].ticks for number in members)
            moved = sum(groups[number].ticks * groups[number].sensitivity for number in members)
            rests.append(_Group(interval.end - last, moved / ticks, (interval,)))
    return rests


def _limits(groups: Sequence[_Group], ledgers: Ledgers, cap: int) -> list[Limit]:
    spans = zip(ledgers.start.tolist(), ledgers.end.tolist(), strict=True)
    places = {span: place for place, span in enumerate(spans)}
    first = [0, *np.cumsum(ledgers.runs).tolist()]
    runs = list(zip((ledgers.charges / cap).tolist(), ledgers.counts.tolist(), strict=True))
    limits = []
    for interval, members in _members(groups).items():
        affected, spent = interval.affected, list[tuple[float, int]]()
        place = places.get((interval.start, interval.end))
        if place is not None:
            affected = ledgers.affected.item(place)
            spent = _few(runs[first[place] : first[place + 1]])
        ticks = [(number, groups[number].ticks) for number in members]
        limits.append(Limit(affected, ticks, spent))
    return limits


def _few(runs: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return no more than `_RUNS` runs, each the mean of neighbours, with as much in all."""
    size = -(-len(runs) // _RUNS) or 1
    means = []
    for first in range(0, len(runs), size):
        shares, ticks = zip(*runs[first : first + size], strict=True)
        mean = sum(share * count for share, count in zip(shares, ticks, strict=True)) / sum(ticks)
        means.append((mean, sum(ticks)))
    return means


@dataclass(frozen=True, eq=False)
class UnicornPlan(UnicornPS):
    """Sample every tick with what a plan says, as far as all open relevance intervals allow it.

    Claim. Swellfish privacy, as for `PolicyStrategy`, whatever the plan says: a tick is charged no
    more than any open ledger has left, and a ledger never holds more than epsilon. A plan is made
    from policies and ledgers alone, which are public. Where there is none, or nothing in it, or
    policies have changed since, it does what `UnicornPS` does.

    `plan` looks at the coming 4,000 ticks, or at fewer where policies often change, asks for the
    least expected noise of them all, and says what the first half of them is to be charged
    (`planning`). It is solved in floating point, and another machine may find other last digits. So
    a plan is an input like a change of policies: whoever runs this remembers plans, and tells them
    again in a replay.

    Parameters: those of `PolicyStrategy`, as are input, release and errors; it also raises
    `ValueError` where SciPy is not installed. State: also `plan`, encoded.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> strategy = UnicornPlan(HOUSEHOLD, bins=1, epsilon=1.0)
    >>> plan = strategy.plan(strategy.start(1))
    >>> [round(Plan.decoded(plan).charge(tick) / strategy.units, 3) for tick in range(8)]
    [0.0, 0.667, 0.333, 0.333, 0.333, 0.333, 0.0, 1.0]
    >>> strategy.plan(strategy.after_plan(strategy.start(1), plan)) is None
    True

    Source: Swellfish specification, section 5.2, for the ledgers.
    """

    kind: ClassVar[str] = "unicorn_plan"
    claim: ClassVar[str] = (
        "the charges of an interval that can matter add up to epsilon at most, whatever is planned"
    )

    def __post_init__(self) -> None:
        require_solver()
        super().__post_init__()

    def start(self, rows: int) -> State:
        return {**super().start(rows), "plan": np.full(rows, b"", dtype=object)}

    def plan(self, state: State) -> bytes | None:
        """Return a plan for the next ticks, where all rows have the same policies and ledgers;
        None if the state has one."""
        columns = (state[name].tolist() for name in ("tick", "changes", "ledgers", "plan"))
        [(tick, changes, content, known)] = set(zip(*columns, strict=True))
        if known and Plan.decoded(known).holds(tick, changes):
            return None
        stretches = foreseen(self.timeline, changes, tick)
        opened = Ledgers.decoded([content]).opened(np.array([tick]), [stretches[0].value.spans])
        charges = planned_charges(stretches, opened, self.cap)
        lengths = [stretch.last - stretch.first + 1 for stretch in stretches]
        plan = Plan(tick, digest_of_changes(changes), tuple(lengths), tuple(charges))
        return plan.until(tick + (sum(lengths) + 1) // 2).encoded()

    def after_plan(self, state: State, plan: bytes) -> State:
        """Return every row with this plan, unless ticks of it are over, which have spent something
        else than it says; `ValueError` if it is none."""
        first = Plan.decoded(plan).first
        rows = zip(state["tick"].tolist(), state["plan"].tolist(), strict=True)
        return {**state, "plan": objects([plan if tick <= first else now for tick, now in rows])}

    def _offer(self, state: State, opened: Books) -> Offer:
        offer = super()._offer(state, opened)
        rows = zip(*(state[name].tolist() for name in ("tick", "changes", "plan")), strict=True)
        planned = np.array([_charge(*row) for row in rows], dtype=np.int64)
        ledgers = opened.ledgers
        headroom = ledgers.least(ledgers.headroom(self.cap))[opened.of_row]
        charge = np.where(planned > 0, np.minimum(planned, headroom), offer.publication)
        return Offer(offer.decision, charge, charge)

    def _settle(self, state: State, opened: Books, charged: Offer) -> State:
        return {**super()._settle(state, opened, charged), "plan": state["plan"].copy()}


def _charge(tick: int, changes: bytes, content: bytes) -> int:
    """Return what is planned for a tick; 0: nothing."""
    plan = Plan.decoded(content) if content else None
    return plan.charge(tick) if plan and plan.holds(tick, changes) else 0

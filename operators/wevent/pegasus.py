"""PeGaSus: noisy figures of every tick, smoothed over groups of ticks that tests find alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats
from fugu.operators.columns import digest_of
from fugu.operators.digests import extended
from fugu.operators.guarantee import CONTRIBUTIONS, Guarantee, Neighbours, Point
from fugu.operators.mechanism import Draws, Inputs, Integers, Releases, State
from fugu.operators.wevent.allocation import (
    LARGEST_BINS,
    LARGEST_VALUE,
    LARGEST_WINDOW,
    Booleans,
    require_length,
    require_size,
    units_below,
    vectors,
)
from fugu.operators.wevent.strategy import (
    Tick,
    digests,
    kinds_of,
    standard_errors,
    window_guarantee,
)
from fugu.operators.whole_numbers import take_whole_numbers

PARTS = 5
"""Parts that the share of a tick is divided into; one of them is for grouping."""
REACH = 5
"""theta, in scales of noise."""
LONGEST = 100
"""No group has more ticks."""
_ACCOUNTING = Point(
    "accounting-of-pegasus",
    "every tick has an even share of epsilon: four fifths for its noisy figure, and one fifth for "
    "the tests of the one group whose tests its figure is in",
)
_PROOF = Point(
    "proof-of-pegasus", "Swellfish specification, section 6 (PeGaSus); sparse-vector test"
)


@dataclass(frozen=True, eq=False)
class Pegasus:
    """Publish the median of the noisy figures of a group of ticks, which are much alike.

    Claim. What one person contributes to any `window` consecutive ticks is epsilon-DP in all
    releases together, up to the delta of finite precision.

    A tick has the share epsilon / window. Four fifths, e, are for its figure x: z = x + noise of
    scale D / e, where D is the sensitivity. The rest, g, is for grouping, bin by bin. If the last
    group is closed, the tick opens a new one, with the threshold 5 D / g + noise of scale 4 D / g.
    If it is open, the tick joins it where, with the tick,

        floor(sum |x_i - mean|) + noise of scale 8 D / g   <   the threshold of the group

    and otherwise is a group of its own, which is closed. A group of 100 ticks is closed too: this
    bounds what is remembered. Published is the median of all z of the group so far, rounded down.

    Proof. Let figures change by d_t <= D in tick t, in L1 over bins. Figures z lose d_t e / D each
    at most. If one figure moves by d, the sum of deviations moves by 2 d at most, and so does the
    largest integer below it, since 2 d is an integer. A tick is in the tests of one group only:
    that which it joins or opens, or that which it fails to join. These tests are a sparse vector:
    let d be the sum of what the ticks in them move by in a bin. Whatever the threshold is, move it
    by 2 d, and the noise of the test that fails by 4 d. Then the tests that held hold again, and
    the one that failed fails again. This costs 2 d g / (4 D) + 4 d g / (8 D) = d g / D. So bins,
    groups and ticks lose at most the sum of d_t (e + g) / D together, which is epsilon for a
    window. Medians are functions of groups and z. Published code compares absolute values of both
    sides, to which this proof does not apply.

    Parameters: those of `Strategy` but for `cap`. Input: integers `(rows, bins)` per tick. Release:
    integers `(rows, bins)`, annotated with what the tick and the window spent, in nats, and with
    `standard_error` in units: of the mean of as many noisy figures as the smallest group of a bin
    has, which leaves out how unlike the ticks of a group are. State: open groups (`open`, `size`,
    `threshold`) with their true `figures` and their `noisy` ones.
    Raises `ValueError` naming the parameter, and, in `step`, for values that are not integers or
    not `(rows, bins)`.

    >>> from fugu.operators.single_stream import released
    >>> pegasus = Pegasus(bins=1, window=4, epsilon=8.0, sensitivity=1)
    >>> ticks = list(released(pegasus, [[500]] * 4 + [[900]] * 3))
    >>> [int(tick.values[0, 0]) for tick in ticks]
    [500, 499, 501, 500, 899, 900, 900]

    Source: Swellfish specification, section 6 (PeGaSus); Chen et al. 2017.
    """

    bins: int
    window: int
    epsilon: float
    sensitivity: int
    neighbours: Neighbours = field(default=CONTRIBUTIONS, kw_only=True)
    tick_milliseconds: int | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "pegasus"
    implementation: ClassVar[int] = 1

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_size("bins", self.bins, LARGEST_BINS)
        require_size("window", self.window, LARGEST_WINDOW)
        require_size("sensitivity", self.sensitivity, LARGEST_VALUE)
        require_length(self.tick_milliseconds)
        needed = PARTS * self.window * 8 * self.sensitivity
        if units_below(self.epsilon) < needed:
            raise ValueError(
                f"epsilon: {self.epsilon:g} nats is too little for this window and sensitivity; "
                f"give at least {in_nats(needed):g} nats"
            )

    @property
    def share(self) -> int:
        """Return what a tick is charged, in units."""
        return units_below(self.epsilon) // self.window

    @property
    def grouping(self) -> int:
        """Return what the tests of a group may cost for each tick, in units."""
        return self.share // PARTS

    @property
    def reach(self) -> int:
        """Return theta, the threshold without noise."""
        return REACH * self.sensitivity * UNITS_PER_NAT // self.grouping

    def start(self, rows: int) -> State:
        """Return the state before the first tick: no group is open."""
        shape = rows, self.bins
        return {
            "tick": np.zeros(rows, dtype=np.int64),
            "open": np.zeros(shape, dtype=np.bool_),
            "size": np.zeros(shape, dtype=np.int64),
            "threshold": np.zeros(shape, dtype=np.int64),
            "figures": np.zeros((*shape, LONGEST), dtype=np.int64),
            "noisy": np.zeros((*shape, LONGEST), dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Add noise to a tick, group it, and release the medians of the groups."""
        values = vectors(inputs.values, self.bins)
        rows, everywhere = np.arange(len(values)), np.ones(len(values), dtype=np.bool_)
        figure = Tick(state, values, draws, self.sensitivity)
        charge = np.full(len(values), self.share - self.grouping)
        noisy = figure.noisy(rows, values, charge, "release")
        joins, threshold = self._grouped(state, values, draws)
        size = np.where(joins, state["size"] + 1, 1)
        opened = (joins | ~state["open"]) & (size < LONGEST)
        group = _with(state["noisy"], joins, size, noisy)
        released = _medians(group, size)
        after: State = {
            "tick": state["tick"] + 1,
            "open": opened,
            "size": size,
            "threshold": np.where(opened, threshold, 0),
            "figures": _with(state["figures"], joins, size, values) * opened[..., None],
            "noisy": group * opened[..., None],
            "history": extended(state["history"], digests(everywhere, released)),
        }
        return after, Releases(released, self._annotations(after), kinds_of(everywhere))

    def _grouped(self, state: State, values: Integers, draws: Draws) -> tuple[Booleans, Integers]:
        """Return which ticks join the open group, and the threshold of their group, bin by bin."""
        rows, charge = np.arange(len(values)), np.full(len(values), self.grouping)
        joined = np.minimum(state["size"] + 1, LONGEST)
        deviation = _deviations(_with(state["figures"], state["open"], joined, values), joined)
        bound_to = np.concatenate([values, deviation], axis=1)
        theta = np.full(values.shape, self.reach)
        fresh = Tick(state, values, draws, 4 * self.sensitivity)
        seen = Tick(state, bound_to, draws, 8 * self.sensitivity)
        threshold = np.where(
            state["open"], state["threshold"], fresh.noisy(rows, theta, charge, "threshold")
        )
        alike = seen.noisy(rows, deviation, charge, "deviation") < threshold
        return state["open"] & alike, threshold

    def _annotations(self, after: State) -> State:
        rows, price = len(after["tick"]), (self.share - self.grouping) // self.sensitivity
        spend = self.share * np.minimum(after["tick"], self.window)
        error = standard_errors(np.full(rows, price)) / np.sqrt(after["size"].min(axis=1))
        return {
            "published": np.ones(rows, dtype=np.bool_),
            "decision_epsilon": np.full(rows, self.grouping / UNITS_PER_NAT),
            "publication_epsilon": np.full(rows, (self.share - self.grouping) / UNITS_PER_NAT),
            "window_epsilon": spend / UNITS_PER_NAT,
            "standard_error": error,
        }

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return w-event differential privacy."""
        changed = min(self.neighbours.bins, self.bins)
        return (
            window_guarantee(
                epsilon=self.epsilon,
                window=self.window,
                bins=self.bins,
                draws=changed * (2 + LONGEST),
                sensitivity=self.sensitivity,
                neighbours=self.neighbours,
                tick_milliseconds=self.tick_milliseconds,
                tick_by_tick=False,
                accounting=_ACCOUNTING,
                proof=_PROOF,
            ),
        )

    def audit(self) -> Mapping[str, object]:
        """Return what a tick and a window are charged, and the error of a figure alone."""
        price = np.array([(self.share - self.grouping) // self.sensitivity])
        return {
            "figure of a tick in nats": in_nats(self.share - self.grouping),
            "grouping of a tick in nats": in_nats(self.grouping),
            "charge of a window in nats, at most": in_nats(self.window * self.share),
            "standard error of a figure that is a group of its own": float(
                standard_errors(price)[0]
            ),
            "ticks of a group, at most": LONGEST,
        }

    def law_digest(self) -> bytes:
        """Identify kind, implementation and all parameters."""
        return digest_of(
            self.kind,
            self.implementation,
            self.bins,
            self.window,
            units_below(self.epsilon),
            self.sensitivity,
        )


def _with(group: Integers, goes_on: Booleans, size: Integers, newest: Integers) -> Integers:
    """Return groups with the newest figure in the place before `size`; others are begun anew."""
    after = group * goes_on[..., None]
    place = np.where(goes_on, size - 1, 0)[..., None]
    np.put_along_axis(after, place, newest[..., None], axis=-1)
    return after


def _inside(size: Integers) -> Booleans:
    return np.asarray(np.arange(LONGEST) < size[..., None])


def _deviations(figures: Integers, size: Integers) -> Integers:
    """Return sums of |x - mean| over groups, rounded down."""
    count = size[..., None]
    total = np.where(_inside(size), figures, 0).sum(axis=-1, keepdims=True)
    apart = np.where(_inside(size), np.abs(count * figures - total), 0)
    return np.asarray(apart.sum(axis=-1) // size)


def _medians(noisy: Integers, size: Integers) -> Integers:
    """Return medians of groups, rounded down."""
    ordered = np.sort(np.where(_inside(size), noisy, np.iinfo(np.int64).max), axis=-1)
    low, high = (
        np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0]
        for place in ((size - 1) // 2, size // 2)
    )
    return np.asarray((low + high) // 2)

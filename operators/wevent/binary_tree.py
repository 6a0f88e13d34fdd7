"""Binary tree: running totals in which every tick counts in few blocks, each with noise once."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT, add_spent, in_nats
from fugu.operators.columns import digest_of
from fugu.operators.digests import extended
from fugu.operators.guarantee import (
    BEYOND_A_WINDOW,
    CONTRIBUTIONS,
    CORRELATION,
    OTHERS_KNOWN,
    Guarantee,
    Neighbours,
    Point,
)
from fugu.operators.mechanism import Draws, Inputs, Integers, Releases, State
from fugu.operators.noise.additive import finite_precision_delta
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION
from fugu.operators.wevent.allocation import (
    LARGEST_BINS,
    LARGEST_VALUE,
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

LARGEST_HORIZON = 2**16
"""With it, totals of the largest values fit 64 bits."""
_BLOCKS = Point(
    "blocks-of-a-window",
    "a window spends at most epsilon: each of its ticks lies in at most {levels} of the blocks "
    "that {horizon:,} ticks are added up in",
)
_HORIZON = Point("sum-to-the-horizon", "all {ticks:,} ticks together spend it")
_AFTER_THE_HORIZON = Point(
    "after-the-horizon", "ticks after the first {horizon:,}: they are not released at all"
)
_PROOF = Point("binary-tree", "real-time release specification, section 7; Chan, Shi and Song 2011")


@dataclass(frozen=True, eq=False)
class BinaryTree:
    """Publish noisy running totals, made of blocks of ticks that have noise once each.

    Claim. Over a declared `horizon` of T ticks, what one person contributes to any `window`
    consecutive ticks is epsilon-DP in all releases together, up to the delta of finite precision.
    With a window of 1 this is the event level of the literature, with a window of T its user level.
    Everything one person contributes within the horizon is (T / window) epsilon-DP.

    Blocks of 1, 2, 4, ... ticks are closed as in binary counting: tick t closes one block, as long
    as the lowest bit of t is worth, and the total up to t is the sum of one block for each bit of
    t. A tick lies in at most l = floor(log2 T) + 1 blocks, so a window changes the sums of all
    blocks together by at most window * l * sensitivity in L1, and noise of scale window * l *
    sensitivity / epsilon is drawn once for each block. After the horizon nothing is released but
    the last total.

    Parameters: those of `Strategy` but for `cap`, and `horizon` in ticks. Input: integers
    `(rows, bins)` per tick. Release: integers `(rows, bins)`, the totals of all ticks so far,
    unbiased. State: `sums` and `noisy`, one open block per level.
    Raises `ValueError` naming the parameter, and, in `step`, for values that are not integers or
    not `(rows, bins)`.

    >>> from fugu.operators.single_stream import released
    >>> tree = BinaryTree(bins=1, window=1, epsilon=1.0, sensitivity=1, horizon=3)
    >>> [int(tick.values[0, 0]) for tick in released(tree, [[500]] * 4)]
    [498, 1000, 1497, 1497]

    Source: real-time release specification, section 7; Chan, Shi and Song 2011.
    """

    bins: int
    window: int
    epsilon: float
    sensitivity: int
    horizon: int
    neighbours: Neighbours = field(default=CONTRIBUTIONS, kw_only=True)
    tick_milliseconds: int | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "binary_tree"
    implementation: ClassVar[int] = 1

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_size("bins", self.bins, LARGEST_BINS)
        require_size("horizon", self.horizon, LARGEST_HORIZON)
        require_size("window", self.window, self.horizon)
        require_size("sensitivity", self.sensitivity, LARGEST_VALUE)
        require_length(self.tick_milliseconds)
        blocks = self.window * self.levels
        if units_below(self.epsilon) < blocks * self.sensitivity:
            raise ValueError(
                f"epsilon: {self.epsilon:g} nats is too little for this window, horizon and "
                f"sensitivity; give at least {in_nats(blocks * self.sensitivity):g} nats"
            )

    @property
    def levels(self) -> int:
        """Return in how many blocks a tick lies at most."""
        return self.horizon.bit_length()

    @property
    def block_charge(self) -> int:
        """Return what a block costs, in units, if one tick of it changes."""
        return units_below(self.epsilon) // (self.window * self.levels)

    @property
    def tick_charge(self) -> int:
        """Return what a tick costs, in units, in all blocks that it lies in."""
        return self.levels * self.block_charge

    def start(self, rows: int) -> State:
        """Return the state before the first tick: no block is open."""
        blocks = np.zeros((rows, self.levels, self.bins), dtype=np.int64)
        return {
            "tick": np.zeros(rows, dtype=np.int64),
            "sums": blocks,
            "noisy": blocks.copy(),
            "released": np.zeros((rows, self.bins), dtype=np.int64),
            "spent": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Close a block, with noise, and add up one block per bit of the tick."""
        values = vectors(inputs.values, self.bins)
        tick = state["tick"] + 1
        alive = tick <= self.horizon
        sums, noisy = state["sums"].copy(), state["noisy"].copy()
        closing = np.where(alive, _lowest_bit(tick), -1)
        for level in range(self.levels):
            merged = level < closing
            values = values + np.where(merged[:, None], sums[:, level], 0)
            sums[merged, level] = noisy[merged, level] = 0
        rows = np.flatnonzero(alive)
        charges = np.full(len(tick), self.block_charge)
        closed = Tick(state, values, draws, self.sensitivity)
        sums[rows, closing[rows]] = values[rows]
        noisy[rows, closing[rows]] = closed.noisy(rows, values[rows], charges, "release")
        released = np.where(alive[:, None], noisy.sum(axis=1), state["released"])
        after: State = {
            "tick": tick,
            "sums": sums,
            "noisy": noisy,
            "released": released,
            "spent": add_spent(state["spent"], np.where(alive, self.tick_charge, 0)),
            "history": extended(state["history"], digests(alive, released)),
        }
        return after, Releases(released.copy(), self._annotations(tick), kinds_of(alive))

    def _annotations(self, tick: Integers) -> State:
        charged = np.minimum(tick, self.horizon) - np.maximum(tick - self.window, 0)
        last = np.minimum(tick, self.horizon)
        bits = (last[:, None] >> np.arange(self.levels) & 1).sum(axis=1)
        price = np.full(len(tick), self.block_charge // self.sensitivity)
        return {
            "published": tick <= self.horizon,
            "window_epsilon": np.maximum(charged, 0) * self.tick_charge / UNITS_PER_NAT,
            "standard_error": np.sqrt(bits) * standard_errors(price),
        }

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantee of a window, and that of everything within the horizon."""
        changed = min(self.neighbours.bins, self.bins)
        of_windows = window_guarantee(
            epsilon=self.epsilon,
            window=self.window,
            bins=self.bins,
            draws=changed * self.levels,
            sensitivity=self.sensitivity,
            neighbours=self.neighbours,
            tick_milliseconds=self.tick_milliseconds,
            tick_by_tick=False,
            largest=in_nats(self.window * self.block_charge),
            accounting=_BLOCKS.of(levels=self.levels, horizon=self.horizon),
            not_covered=(_AFTER_THE_HORIZON.of(horizon=self.horizon),),
            proof=_PROOF,
        )
        if self.window == self.horizon:
            return (of_windows,)
        of_horizon = replace(
            of_windows,
            notion="dp",
            epsilon=in_nats(self.horizon * self.tick_charge),
            per="stream",
            window=None,
            tick_milliseconds=None,
            adversary=OTHERS_KNOWN,
            accounting=(_HORIZON.of(ticks=self.horizon),),
            not_covered=tuple(
                point
                for point in of_windows.not_covered
                if point not in (BEYOND_A_WINDOW, CORRELATION)
            ),
            finite_precision_delta=finite_precision_delta(
                in_nats(self.horizon * self.tick_charge),
                TOTAL_VARIATION,
                2 * changed * self.horizon,
                in_nats(self.horizon * self.block_charge),
            ),
        )
        return of_windows, of_horizon

    def audit(self) -> Mapping[str, object]:
        """Return how many blocks there are, and what they cost."""
        price = np.array([self.block_charge // self.sensitivity])
        return {
            "blocks that a tick lies in, at most": self.levels,
            "block in nats": in_nats(self.block_charge),
            "tick in nats": in_nats(self.tick_charge),
            "charge of a window in nats, at most": in_nats(self.window * self.tick_charge),
            "standard error of a block": float(standard_errors(price)[0]),
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
            self.horizon,
        )


def _lowest_bit(numbers: Integers) -> Integers:
    """Return the place of the lowest bit that is set, of positive numbers."""
    return np.asarray(np.bitwise_count((numbers & -numbers) - 1).astype(np.int64))

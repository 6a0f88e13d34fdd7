"""Measure what draws of discrete Laplace noise cost, by driving the real step with chosen noise."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import (
    Array,
    Floats,
    Inputs,
    Integers,
    Mechanism,
    Releases,
    State,
    TimedMechanism,
    Words,
)
from fugu.operators.noise.unit_laplace import LARGEST, WORDS_PER_DRAW
from fugu.operators.wevent.allocation import Booleans

_DIGITS = WORDS_PER_DRAW // 2


@dataclass(frozen=True)
class ChosenNoise:
    """Hold the noise of each purpose, `(rows, coordinates)`, in units of budget.

    `price` of them are one unit of value, and what is left over is cut off. Noise of one coordinate
    is that of all.
    """

    by_purpose: Mapping[str, Integers]

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Return words of two geometric numbers of which one is the noise, and the other one 0."""
        chosen = self.by_purpose[purpose]
        if chosen.shape[1] == 1:
            chosen = np.repeat(chosen, coordinates, axis=1)
        assert chosen.shape == (len(binding), coordinates)
        assert count == WORDS_PER_DRAW
        both = np.stack([np.maximum(chosen, 0), np.maximum(-chosen, 0)], axis=-1)
        ones = both[..., None] >> np.arange(_DIGITS) & 1
        words = np.where(ones, np.uint64(0), np.uint64(2**64 - 1))
        return words.reshape(*chosen.shape, count)


def chosen(decision: Integers, release: Integers) -> ChosenNoise:
    """Choose `decision (rows,)` of tests, and `release (rows, bins)` of what is published."""
    return ChosenNoise({"dissimilarity": decision[:, None], "release": release})


_DECIDES = 2**45
"""Noise that decides alone, where figures are small."""
_FAR = 2**40
_SEEN = 2**42
"""Noise of this size makes paths differ in what they publish."""


@dataclass(frozen=True)
class Prices:
    """Hold what a unit of change costs, in nats, `(ticks, paths)`; infinite where nothing hides it.

    `public` says whether releases, and what is remembered, are functions of noisy figures alone.
    """

    decision: Floats
    publication: Floats
    public: bool

    @property
    def together(self) -> Floats:
        """Return what a tick costs, decision and publication."""
        return self.decision + self.publication

    def of_windows(self, ticks: int) -> Floats:
        """Return what any so many ticks in a row cost, `(windows, paths)`."""
        length = min(ticks, len(self.together))
        return np.asarray(sliding_window_view(self.together, length, axis=0).sum(axis=-1))


def prices(
    mechanism: Mechanism,
    groups: int,
    numbers: Integers,
    paths: int,
    seed: int = 0,
    between: Callable[[State, int], State] = lambda state, number: state,
    hidden: Booleans | None = None,
    exact: Collection[str] = (),
) -> Prices:
    """Measure the prices of ticks with these `numbers`, along so many paths.

    Nothing is taken from what a mechanism says about itself. The price of a draw, which is what one
    unit of change costs, is the least noise (in units of 2^-40 nat) with which anything that is
    published or remembered is other than without noise: the sampler cuts noise off to whole prices.
    Paths are ways to go on: at each tick a noisy decision may turn out either way.

    The first path publishes whenever it can, the second one as late as it can, others at random.
    `between` is what happens to the state before each of them, such as a restart. Ticks that are
    not `hidden` may be published as they are. Columns of the state that are `exact` hold true
    figures on purpose; no other one may.
    """
    rng, state = np.random.default_rng(seed), mechanism.start(paths)
    wanted = rng.random((len(numbers), paths)) < rng.random(paths)
    wanted[:, 0], wanted[:, 1:2] = True, np.arange(len(numbers))[:, None] == len(numbers) // 2
    measured, public = [], True
    for number, tick in enumerate(numbers.tolist()):
        state = between(state, number)
        if isinstance(mechanism, TimedMechanism):
            state = mechanism.elapse(state, np.full(paths, tick))
        driver = _Driver(mechanism, state, groups)
        decision = np.where(wanted[number], _DECIDES, -_DECIDES)
        publication = driver.publication(decision)
        measured.append((driver.decision(), publication))
        if hidden is None or hidden[number]:
            public &= driver.is_public(decision, publication, exact)
        noise = rng.integers(-_SEEN, _SEEN, (paths, groups))
        state, _ = driver.step(np.zeros(paths), decision, noise)
    decisions, publications = np.array(measured).transpose(1, 0, 2) / UNITS_PER_NAT
    return Prices(decisions, publications, public)


@dataclass(frozen=True)
class _Driver:
    """Drive one step of all paths from `state`."""

    mechanism: Mechanism
    state: State
    groups: int

    def step(
        self, values: Array, decision: Integers, release: Integers | None = None
    ) -> tuple[State, Releases]:
        """Step with these `values (rows, groups)`, or `(rows,)` in the first group alone."""
        rows = len(decision)
        vectors = np.zeros((rows, self.groups), dtype=np.int64)
        vectors[:, : values[0].size] = np.reshape(values, (rows, -1))
        noise = np.zeros((rows, 1), dtype=np.int64) if release is None else release
        return self.mechanism.step(self.state, Inputs(vectors), chosen(decision, noise))

    def publication(self, decision: Integers) -> Floats:
        """Return the price of the figures that are drawn after these decisions; 0: none is."""
        nothing = np.zeros(len(decision), dtype=np.int64)
        without = _everything(*self.step(nothing, decision))

        def differs(noise: Integers) -> Booleans:
            there = _everything(*self.step(nothing, decision, noise[:, None]))
            return _rows_differ(without, there)

        most = np.full(len(decision), LARGEST - 1)
        return np.where(differs(most), _least(differs, nothing, most), 0).astype(np.float64)

    def decision(self) -> Floats:
        """Return the price of noisy decisions; 0 where there is none to take.

        It is how much less noise publishes one unit farther from what was released before, at the
        least distance at which any noise does. Where none is needed there, the truth decides.
        """
        rows = len(self.state["tick"])
        never, always = np.full(rows, -_DECIDES), np.full(rows, _DECIDES)
        nothing, far = np.zeros(rows, dtype=np.int64), np.full(rows, _FAR)
        at_once = self._published(nothing, always)
        moved = ~at_once & self._published(far, always)
        reached = _least(lambda apart: self._published(apart, always), nothing, far * moved)
        sure = self._published(reached, never)
        asked = (at_once | moved) & ~sure
        least, nearer = (self._noise_that_publishes(at, asked) for at in (reached, reached + 1))
        return np.where(moved & sure, inf, least - nearer)

    def _noise_that_publishes(self, apart: Integers, asked: Booleans) -> Integers:
        most = np.where(asked, _DECIDES, 0)
        return _least(lambda noise: self._published(apart, noise), -most, most)

    def is_public(self, decision: Integers, price: Floats, exact: Collection[str]) -> bool:
        """Return whether another figure with the same noisy figure leads to the same."""
        noise = np.zeros((len(decision), self.groups), dtype=np.int64)
        noise[:, 0] = -price.astype(np.int64)
        results = [
            ({name: column for name, column in state.items() if name not in exact}, releases)
            for state, releases in (
                self.step(np.zeros(len(decision)), decision),
                self.step(np.ones(len(decision)), decision, noise),
            )
        ]
        one, other = (_everything(*result) for result in results)
        return not _rows_differ(one, other).any()

    def _published(self, apart: Integers, decision: Integers) -> Booleans:
        """Return whether figures so far from those released before are released, and not these."""
        values = self.state["released"].copy()
        values[:, 0] += apart
        kinds = self.step(values, decision)[1].kinds
        return np.zeros(len(decision), dtype=bool) if kinds is None else kinds == 0


def _everything(state: State, releases: Releases) -> list[Array]:
    kinds = [] if releases.kinds is None else [releases.kinds]
    return [releases.values, *kinds, *releases.annotations.values(), *state.values()]


def _rows_differ(one: list[Array], other: list[Array]) -> Booleans:
    differ = np.zeros(len(one[0]), dtype=bool)
    for first, second in zip(one, other, strict=True):
        same = (first == second) | ((first != first) & (second != second))
        differ |= ~np.reshape(same, (len(differ), -1)).all(axis=1)
    return differ


def _least(holds: Callable[[Integers], Booleans], low: Integers, high: Integers) -> Integers:
    """Return the least noise for which `holds`, row by row; it must for `high`, not for `low`."""
    low, high = low.copy(), high.copy()
    while (high - low > 1).any():
        middle = (low + high) // 2
        there = holds(middle)
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return high

"""Compute the law of a delay exactly: the real `step`, with every word that it may draw.

Which words do the same is counted to the last of all 2^64, so nothing is taken from what a
mechanism says of itself. Paths that reserve the same slots, and have the marked value in the same
one, go on as one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fugu.operators.auditing.step_check import LAST_WORD, intervals, spread
from fugu.operators.mechanism import Array, Floats, Inputs, Integers, State, Words
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation

_LARGEST_STATES = 1_000
_LARGEST_CELLS = 300_000
"""Bound the slots in all paths of a tick."""
_CELLS = 64
_SETTLED = 1e-15
_MOST_TICKS = 5_000
_OLD, _NEW, _MARK = b"old", b"new", b"mark"
_NOTHING = np.array([None], dtype=object)


def exact_delays(mechanism: TemporalPerturbation, reach: int) -> Floats | None:
    """Return P(the release j ticks after a value came is that value), j = 0..reach.

    That is in steady state; None if there are too many states.
    """
    chain = _Chain(mechanism)
    paths = chain.steady()
    if paths is None:
        return None
    law = np.zeros(reach + 1)
    for delay in range(reach + 1):
        if chain.cells(paths) > _LARGEST_CELLS:
            return None
        paths, released = chain.after(paths, _MARK if delay == 0 else _NEW)
        law[delay] = released.weight[released.values == _MARK].sum()
    return law


@dataclass(frozen=True, eq=False)
class _Paths:
    """Hold where paths stand, seen from the next tick: reserved slots, and that of the mark."""

    occupied: Array
    marked: Array
    weight: Floats

    def merged(self) -> "_Paths":
        """Return those that stand alike as one."""
        rows = np.concatenate([self.occupied, self.marked], axis=1)
        distinct, same = np.unique(rows, axis=0, return_inverse=True)
        width = self.occupied.shape[1]
        weight = np.asarray(np.bincount(same.ravel(), self.weight), dtype=np.float64)
        return _Paths(distinct[:, :width], distinct[:, width:], weight)


@dataclass(frozen=True, eq=False)
class _Released:
    """Hold what the paths of a tick let out."""

    values: Array
    weight: Floats


@dataclass(eq=False)
class _Chain:
    """Follow a mechanism; `choices` of a state are words, one of each that does the same, and how
    likely these are."""

    mechanism: TemporalPerturbation
    choices: dict[bytes, tuple[Words, Floats]] = field(default_factory=dict)

    def steady(self) -> _Paths | None:
        """Go on from one state until nothing changes any more."""
        begun = self.mechanism.start(1)
        first = begun.get("occupied", np.zeros((1, 0), dtype=bool))
        pending = self.mechanism.cool_down_ticks
        reserved = first | (np.arange(first.shape[1]) < pending)
        paths = _Paths(reserved, begun["slots"] == _MARK, np.ones(1))
        for _ in range(_MOST_TICKS):
            after, _released = self.after(paths, _NEW)
            if len(after.weight) > _LARGEST_STATES:
                return None
            if len(after.weight) == len(paths.weight):
                moved = float(np.abs(after.weight - paths.weight).max())
                if moved <= _SETTLED and (after.occupied == paths.occupied).all():
                    return after
            paths = after
        return None

    def after(self, paths: _Paths, value: bytes) -> tuple[_Paths, _Released]:
        """Take `value` in, with everything that may be drawn."""
        self._choose(paths.occupied)
        chosen = [self.choices[row.tobytes()] for row in paths.occupied]
        path = np.repeat(np.arange(len(chosen)), [len(words) for words, _ in chosen])
        words = np.concatenate([words for words, _ in chosen])
        chance = np.concatenate([chances for _, chances in chosen])
        occupied, marked = paths.occupied[path], paths.marked[path]
        slots = np.where(marked, _MARK, np.where(self._held(occupied), _OLD, _NOTHING))
        state, values = self._stepped(occupied, slots, value, words)
        weight = paths.weight[path] * chance
        after = _Paths(
            np.roll(state.get("occupied", occupied), -1, axis=1),
            np.roll(state["slots"] == _MARK, -1, axis=1),
            weight,
        )
        return after.merged(), _Released(values, weight)

    def cells(self, paths: _Paths) -> int:
        """Return how many slots all paths of the next tick have together."""
        self._choose(paths.occupied)
        choices = [len(self.choices[row.tobytes()][0]) for row in paths.occupied]
        return sum(choices) * self.mechanism.k

    def _choose(self, occupied: Array) -> None:
        """Find the words of states that were never seen, by halving intervals of words."""
        new = np.array([row for row in occupied if row.tobytes() not in self.choices])
        if not len(new):
            return
        words = spread(_CELLS)
        row = np.repeat(np.arange(len(new)), len(words))
        done = self._done(new[row], np.tile(words, len(new))).reshape(len(new), -1, 1)
        same = intervals(words, done, lambda row, word: self._done(new[row], word)[:, None])
        for number, state in enumerate(new):
            own = same.case == number
            codes = np.append(same.label[own, 0], done[number, -1])
            shares = np.append(same.share[own], 2.0**-64)
            _, first, code = np.unique(codes, return_index=True, return_inverse=True)
            chosen = np.append(same.word[own], LAST_WORD)[first]
            counted = np.asarray(np.bincount(code, shares), dtype=np.float64)
            self.choices[state.tobytes()] = chosen, counted

    def _done(self, occupied: Array, words: Words) -> Integers:
        """Return a number for what each word does: where the value goes, and what leaves."""
        k = self.mechanism.k
        labels = np.array([b"%d" % slot for slot in range(k)], dtype=object)
        slots = np.where(self._held(occupied), labels, _NOTHING)
        state, released = self._stepped(occupied, slots, _NEW, words)
        goes = (state["slots"] == _NEW) @ np.arange(1, k + 1)
        names: dict[object, int] = {None: 0, _NEW: 1, **{b"%d" % s: s + 2 for s in range(k)}}
        leaves = np.array([names[value] for value in released.tolist()], dtype=np.int64)
        return np.asarray(goes * (k + 2) + leaves)

    def _held(self, occupied: Array) -> Array:
        """Say which slots hold a value: reserved ones, or all where none is reserved."""
        k = self.mechanism.k
        return occupied if occupied.shape[1] else np.ones((len(occupied), k), dtype=bool)

    def _stepped(
        self, occupied: Array, slots: Array, value: bytes, words: Words
    ) -> tuple[State, Array]:
        state = self.mechanism.start(len(words))
        state |= {"slots": slots, "tick": np.full(len(words), self.mechanism.k)}
        if occupied.shape[1]:
            state["occupied"] = occupied
        values = np.full(len(words), value, dtype=object)
        after, releases = self.mechanism.step(state, Inputs(values), _Chosen(words))
        return after, releases.values


@dataclass(frozen=True)
class _Chosen:
    """Draw these words, one for each row."""

    chosen: Words

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        return np.broadcast_to(self.chosen[:, None, None], (len(binding), coordinates, count))

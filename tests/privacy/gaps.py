"""Streams whose records come at declared ticks: a mechanism that follows them, and their truths."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from fugu.operators.auditing.whole_batches import WholeBatches
from fugu.operators.mechanism import Array, Floats, Integers, Releases, State
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.robust_release import RobustRelease
from tests.operators.sip.brute_force import Path, TruthLaw


class AtTicks(ConditionalRandomizedResponse):
    """Every stream has its records at `ticks`, so enumeration follows it through the gaps."""

    ticks: tuple[int, ...]

    def start(self, rows: int) -> State:
        """Before the first record."""
        return self.elapse(super().start(rows), np.full(rows, self.ticks[0]))

    def follow(self, state: State, released: Integers) -> State:
        """Up to the next record."""
        return self._later(super().follow(state, released))

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        """Up to the next record."""
        skipped, releases = super().skip(state, instead)
        return self._later(skipped), releases

    def _later(self, state: State) -> State:
        following = dict(zip(self.ticks, (*self.ticks[1:], self.ticks[-1]), strict=True))
        return self.elapse(state, np.array([following[tick] for tick in state["tick"].tolist()]))


@dataclass(frozen=True, eq=False)
class ResponseInTime(AtTicks):
    """Conditional randomized response at ticks."""

    ticks: tuple[int, ...] = (0,)


@dataclass(frozen=True, eq=False)
class RobustInTime(AtTicks, RobustRelease):
    """Robust release at ticks."""

    ticks: tuple[int, ...] = (0,)


@dataclass(frozen=True, eq=False)
class BatchesInTime(WholeBatches):
    """Whole batches of streams with records at `ticks`; those of a batch come one by one."""

    ticks: tuple[int, ...] = ()

    def start(self, rows: int) -> State:
        """Before the first batch."""
        return self._arrived(super().start(rows), 0)

    def follow(self, state: State, released: Integers) -> State:
        """Up to the last record of the next batch."""
        after = super().follow(state, released)
        return self._arrived(after, int(after["releases"][0]) * self.symbols)

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        """Past a batch; `releases` stays, so the ticks tell where the stream is."""
        skipped, releases = super().skip(state, instead)
        return self._arrived(skipped, self.ticks.index(int(state["tick"][0])) + 1), releases

    def _arrived(self, state: State, first: int) -> State:
        """Let the records of a batch come; they are held back."""
        for position, tick in enumerate(self.ticks[first : first + self.symbols]):
            held = np.full(len(state["held"]), position)
            state = self.mechanism.elapse({**state, "held": held}, np.full(len(held), tick))
        return {**state, "held": np.zeros_like(state["held"])}


def seen_at(ticks: Path, law: TruthLaw, symbols: int) -> TruthLaw:
    """P(symbols at the first few of the ascending `ticks`): what lies between them is summed."""

    def at_ticks(truth: Path) -> float:
        if not truth:
            return 1.0
        at = [tick - ticks[0] for tick in ticks[: len(truth)]]
        choices = [range(symbols)] * (at[-1] + 1)
        known = dict(zip(at, truth, strict=True))
        whole = product(*([known[k]] if k in known else some for k, some in enumerate(choices)))
        return sum(law(one) for one in whole)

    return at_ticks


def truth_probabilities(law: TruthLaw, symbols: int, steps: int) -> Floats:
    """Return the probabilities of all truths, in lexicographic order."""
    return np.array([law(truth) for truth in product(range(symbols), repeat=steps)])

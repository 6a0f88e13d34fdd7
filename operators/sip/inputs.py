"""Check the symbols, beliefs and gaps in time that a step is given."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fugu.operators.columns import DIGEST_BYTES, ByteColumn, Bytes, Field, binding_digest, bytes_of
from fugu.operators.digests import extended
from fugu.operators.mechanism import Floats, Inputs, Integers, State, Words
from fugu.operators.sip.markov_model import SUM_TOLERANCE, Chain, ordered_sum
from fugu.operators.sip.privacy_bound import Radius


def checked_symbols(inputs: Inputs, symbols: int) -> Integers:
    """Raise `ValueError` for an index outside 0..symbols-1."""
    values = inputs.values.astype("int64", copy=False)
    if ((values < 0) | (values >= symbols)).any():
        raise ValueError(f"a symbol index is outside 0..{symbols - 1}")
    return values


def checked_belief(rows: Floats) -> Floats:
    """Return the beliefs as `(states, rows)`; `ValueError` for one that is no distribution."""
    belief = np.ascontiguousarray(rows.T)
    total = ordered_sum(belief)
    sound = (np.abs(total - 1.0) <= SUM_TOLERANCE) & (belief >= 0.0).all(axis=0)
    if not sound.all():
        raise ValueError(f"the belief of row {int(np.argmin(sound))} is not a distribution")
    return belief


def digest_table(data: Iterable[Field]) -> Bytes:
    """Return the digest of each item of what draws can be bound to, one row each."""
    return bytes_of(b"".join(map(binding_digest, data))).reshape(-1, DIGEST_BYTES)


def bound_to(digests: Bytes, data: Integers, histories: Words) -> ByteColumn:
    """Bind draws to the data and, through the belief, to what was published before."""
    releases = histories.astype("<u8").view(np.uint8).reshape(-1, histories.itemsize)
    return ByteColumn.of_table(np.concatenate([digests[data], releases], axis=1))


LONGEST_GAP = 10_000
NEVER = np.iinfo(np.int64).min
"""The tick of a stream without a record."""
TICK = "tick"
"""The column of the latest tick of each stream."""
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1))


@dataclass(frozen=True)
class Gaps:
    """Count the steps of a chain in gaps of event time.

    A step lasts `step_milliseconds`, and a gap counts as at most `longest` steps.

    A model may declare how long one of its steps lasts. The *tick* of a record is the number of
    whole steps from 1970 to its time. From one record of a stream to the next the chain makes as
    many steps as there are ticks between this one and the latest before it: at least one, also
    within one tick or if time goes backwards, and at most `longest`, however long the gap is. That
    is the declared model, and what is promised relative to it is exact.

    A prediction is a step of the chain in which nothing is released: it is free, and errs by no
    more roundings, and contracts earlier ones as much, as a step with a release (see
    `belief_radius`).

    >>> gaps = Gaps(step_milliseconds=60_000, longest=100)
    >>> gaps.missed(np.array([NEVER, 7, 7, 7, 7, 7]), np.array([7, 5, 7, 8, 10, 5000])).tolist()
    [0, 0, 0, 0, 2, 99]
    >>> str(gaps)
    'in steps of 1 min: between two records at least one, and at most 100 however long the gap is'

    Source: SIP specification, section 4 (steps without a release, non-unit time gaps).
    """

    step_milliseconds: int
    longest: int

    def __post_init__(self) -> None:
        if self.step_milliseconds < 1:
            raise ValueError(
                f"step_milliseconds: must be at least 1 millisecond, not {self.step_milliseconds}"
            )
        if not 1 <= self.longest <= LONGEST_GAP:
            raise ValueError(f"longest: must be 1..{LONGEST_GAP} steps, not {self.longest}")

    def __str__(self) -> str:
        unit, size = next(u for u in _UNITS if self.step_milliseconds % u[1] == 0)
        return (
            f"in steps of {self.step_milliseconds // size} {unit}: between two records at least "
            f"one, and at most {self.longest} however long the gap is"
        )

    def start(self, rows: int) -> State:
        """Return the latest tick of each stream."""
        return {TICK: np.full(rows, NEVER)}

    def kept(self, state: State) -> State:
        """Return a copy of the latest ticks: no release changes them."""
        return {TICK: state[TICK].copy()}

    def missed(self, last: Integers, ticks: Integers) -> Integers:
        """Return how many steps without a record come before the one at `ticks`."""
        passed = ticks - np.where(last == NEVER, ticks, last)
        return np.clip(passed, 1, self.longest) - 1

    def elapse(self, model: Chain, radius: Radius, state: State, ticks: Integers) -> State:
        """Predict once for every step that was missed: one step was predicted with the release.

        What is released next depends on the gap, so the history that draws are bound to does.
        """
        missed = self.missed(state[TICK], ticks)
        after = {**state, TICK: np.maximum(state[TICK], ticks)}
        if missed.any():
            after |= predicted(model, radius, state, missed)
            history = state["history"]
            after["history"] = np.where(missed > 0, extended(history, -missed), history)
        return after

    def identity(self) -> tuple[str | int, ...]:
        """Return the fields for digests."""
        return "gaps", self.step_milliseconds, self.longest


def predicted(model: Chain, radius: Radius, state: State, steps: Integers) -> State:
    """Return the columns that so many predictions change, row by row."""
    belief = checked_belief(state["belief"]).copy()
    for passed in range(int(steps.max(initial=0))):
        waiting = np.flatnonzero(steps > passed)
        belief[:, waiting] = model.skip(belief[:, waiting])
    return {"belief": np.ascontiguousarray(belief.T), **radius.after(state, steps)}

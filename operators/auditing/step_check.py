"""Does `step` do what an enumerable mechanism says about itself? Measured, not believed.

The real `step` is driven with chosen words from all over the unit interval. Wherever two
neighbouring words give different releases, the interval between them is halved until it is as
narrow as a word can tell, so the length of the words that give a release, which is its probability,
is exact but for 2^-53 at each border. (A release is missed only if all its words lie between two
neighbouring ones of the first `cells` words that both give one and the same other release.)

>>> from operators.registry import KINDS
>>> crr = KINDS["crr"].examples()[2].mechanism
>>> check = check_step(crr, crr.start(1))
>>> check.distance < 1e-14, check.follows, check.public
(True, True, True)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from operators.mechanism import (
    Array,
    EnumerableMechanism,
    Floats,
    Inputs,
    Integers,
    Releases,
    State,
    Words,
)

_FINEST = 2**11
"""Words closer than this can be one and the same double."""
_LAST_WORD = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class ChosenWords:
    """Draws that somebody chose: one word for the one draw of a step, `(rows,)`."""

    chosen: Words

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """The chosen ones, whatever they are for."""
        if (coordinates, count, len(binding)) != (1, 1, len(self.chosen)):
            raise ValueError("a step that draws more than one word a row cannot be checked")
        return self.chosen[:, None, None]


@dataclass(frozen=True)
class StepCheck:
    """How `step` compares with what is said about it, at the worst of the states looked at."""

    distance: float
    """Total variation between the law that `step` draws and `release_law`."""
    follows: bool
    """Whether state and release alone give the next state, and it is the one that `follow` says."""
    public: bool
    """Whether state and release alone give the annotations and the kind."""


def check_step(mechanism: EnumerableMechanism, state: State, *, cells: int = 256) -> StepCheck:
    """Drive `step` from every row of `state`, with every input."""
    driver = _Driver(mechanism, state)
    inputs, outputs = mechanism.outcomes
    law = mechanism.release_law(state).reshape(-1, outputs)
    cases = len(law)
    words = np.arange(cells + 1, dtype=np.uint64) * np.uint64(2**64 // cells)
    words[-1] = _LAST_WORD
    case = np.repeat(np.arange(cases), len(words))
    after, releases = driver.step(case, np.tile(words, cases))
    released = driver.indices(releases)
    lengths = driver.lengths(words, released.reshape(cases, -1))
    wrong = np.abs(lengths[:, :outputs] - law).sum(axis=1) + lengths[:, outputs]
    cause = case // inputs * (outputs + 1) + released
    _, first, same = np.unique(cause, return_index=True, return_inverse=True)
    first = first[released[first] < outputs]
    followed = mechanism.follow(driver.at(case[first]), released[first])
    notes = [releases.kinds, *releases.annotations.values()]
    return StepCheck(
        distance=0.5 * float(wrong.max()),
        follows=all(_function_of(same, column) for column in after.values())
        and all(_equal(column[first], followed[name]) for name, column in after.items()),
        public=all(_function_of(same, note) for note in notes if note is not None),
    )


@dataclass(frozen=True)
class _Driver:
    """Steps with chosen words. A case is a row of the state together with an input."""

    mechanism: EnumerableMechanism
    state: State

    def at(self, case: Integers) -> State:
        row = case // self.mechanism.outcomes[0]
        return {name: column[row] for name, column in self.state.items()}

    def step(self, case: Integers, words: Words) -> tuple[State, Releases]:
        given = case % self.mechanism.outcomes[0]
        return self.mechanism.step(self.at(case), Inputs(given), ChosenWords(words))

    def indices(self, releases: Releases) -> Integers:
        """The releases; whatever is none of the law counts as one more."""
        outputs = self.mechanism.outcomes[1]
        values = releases.values
        return np.where((values >= 0) & (values < outputs), values, outputs)

    def lengths(self, words: Words, released: Integers) -> Floats:
        """How much of the unit interval gives each release, `(cases, releases + 1)`.

        `released (cases, words)` says what the first words give.
        """
        case = np.repeat(np.arange(len(released)), len(words) - 1)
        left, right = np.tile(words[:-1], len(released)), np.tile(words[1:], len(released))
        at_left, at_right = released[:, :-1].ravel(), released[:, 1:].ravel()
        lengths = np.zeros((len(released), self.mechanism.outcomes[1] + 1))
        while len(case):
            settled = (at_left == at_right) | (right - left <= _FINEST)
            length = (right - left)[settled].astype(np.float64) * 2.0**-64
            np.add.at(lengths, (case[settled], at_left[settled]), length)
            case, left, right, at_left, at_right = (
                column[~settled] for column in (case, left, right, at_left, at_right)
            )
            middle = left + (right - left) // np.uint64(2)
            at_middle = self.indices(self.step(case, middle)[1])
            case = np.concatenate([case, case])
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
            at_left = np.concatenate([at_left, at_middle])
            at_right = np.concatenate([at_middle, at_right])
        return lengths


def _function_of(same: Integers, column: Array) -> bool:
    """Whether entries that are the `same` are equal."""
    first = np.unique(same, return_index=True)[1]
    return _equal(column, column[first][same])


def _equal(column: Array, other: Array) -> bool:
    return bool(column.tobytes() == other.tobytes())

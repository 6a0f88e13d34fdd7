"""Check `step` against the law that an enumerable mechanism states, by intervals of words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fugu.operators.columns import taken
from fugu.operators.mechanism import (
    Array,
    EnumerableMechanism,
    Floats,
    Inputs,
    Integers,
    Releases,
    RepeatingMechanism,
    State,
    Words,
)

LAST_WORD = np.uint64(2**64 - 1)

Labels = Callable[[Integers, Words], Integers]
"""A function from words to what they give, `(words, labels)`, each in the case of its number."""


@dataclass(frozen=True)
class Intervals:
    """Hold intervals of words that give the same: case, first word, share of all, and label."""

    case: Integers
    word: Words
    share: Floats
    label: Integers


def spread(cells: int) -> Words:
    """Return the ends of so many equal intervals of words."""
    words = np.arange(cells + 1, dtype=np.uint64) * np.uint64(2**64 // cells)
    words[-1] = LAST_WORD
    return words


def intervals(words: Words, given: Integers, labels: Labels) -> Intervals:
    """Halve what lies between neighbouring words until they give the same, or are neighbours.

    `given (cases, words, labels)` says what the first words give in each case.
    """
    case = np.repeat(np.arange(len(given)), len(words) - 1)
    left, right = np.tile(words[:-1], len(given)), np.tile(words[1:], len(given))
    at_left = given[:, :-1].reshape(len(case), -1)
    at_right = given[:, 1:].reshape(len(case), -1)
    found = []
    while len(case):
        settled = (at_left == at_right).all(axis=1) | (right - left == 1)
        share = (right - left)[settled].astype(np.float64) * 2.0**-64
        found.append((case[settled], left[settled], share, at_left[settled]))
        case, left, right, at_left, at_right = (
            column[~settled] for column in (case, left, right, at_left, at_right)
        )
        middle = left + (right - left) // np.uint64(2)
        at_middle = labels(case, middle)
        case = np.concatenate([case, case])
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        at_left = np.concatenate([at_left, at_middle])
        at_right = np.concatenate([at_middle, at_right])
    return Intervals(*(np.concatenate(column) for column in zip(*found, strict=True)))


_FIRST_CELLS, _SECOND_WORDS = 16, 8
"""The cells in which the first of two words is looked at, and the number of second words."""


@dataclass(frozen=True)
class ChosenWords:
    """Give chosen words, `(rows, purposes)`, instead of draws: one for each purpose in turn."""

    chosen: Words
    purposes: list[str] = field(default_factory=list)

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Return the chosen words, whatever they are for; `ValueError` for more than two a row."""
        expected = (1, 1, len(self.chosen), False, True)
        drawn, left = purpose in self.purposes, len(self.purposes) < self.chosen.shape[1]
        if (coordinates, count, len(binding), drawn, left) != expected:
            raise ValueError("a step that draws more than two words a row cannot be checked")
        self.purposes.append(purpose)
        return self.chosen[:, len(self.purposes) - 1, None, None]


@dataclass(frozen=True)
class StepCheck:
    """Tell how `step` compares with what is said about it, at the worst of the states."""

    distance: float
    """The total variation between the law that `step` draws and `release_law`."""
    follows: bool
    """True if state and release alone give the next state, and it is that of `follow`."""
    public: bool
    """True if state and release alone give the annotations and the kind."""


def check_step(mechanism: EnumerableMechanism, state: State, *, cells: int = 256) -> StepCheck:
    """Measure whether `step` does what an enumerable mechanism says about itself.

    The real `step` is driven from every row of `state`, with every input and with chosen words from
    all over the unit interval. Wherever two neighbouring words give different releases, the
    interval between them is halved down to two words, so the number of words that give a release,
    which is its probability, is exact. (A release is missed only if all its words lie between two
    neighbouring ones of the first `cells` words that both give one and the same other release.)

    A step may draw one word a row for each of two purposes. Then the first word is halved into
    pieces in which all words do the same to what some second words give, and in each piece the
    second word is.

    >>> from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
    >>> from fugu.operators.sip.markov_model import MarkovModel
    >>> rows = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    >>> model = MarkovModel.smoothed([0.7, 0.2, 0.1], rows, smoothing=0.2)
    >>> crr = ConditionalRandomizedResponse(model, epsilon=1.0)
    >>> check = check_step(crr, crr.start(1))
    >>> check.distance < 1e-14, check.follows, check.public
    (True, True, True)
    """
    driver = _Driver(mechanism, state)
    inputs, outputs = mechanism.outcomes
    law = mechanism.release_law(state).reshape(-1, outputs)
    pieces = _pieces(driver, len(law))
    words = _towards_the_end(spread(cells))
    piece = np.repeat(np.arange(len(pieces.case)), len(words))
    case = pieces.case[piece]
    after, releases = driver.step(case, pieces.words(piece, np.tile(words, len(pieces.case))))
    released = driver.indices(releases)

    def released_by(piece: Integers, word: Words) -> Integers:
        _, releases = driver.step(pieces.case[piece], pieces.words(piece, word))
        return driver.indices(releases)[:, None]

    halved = intervals(words, released.reshape(len(pieces.case), -1, 1), released_by)
    lengths = np.zeros((len(law), outputs + 1))
    at = pieces.case[halved.case], halved.label[:, 0]
    np.add.at(lengths, at, pieces.share[halved.case] * halved.share)
    wrong = np.abs(lengths[:, :outputs] - law).sum(axis=1) + lengths[:, outputs]
    cause = case // inputs * (outputs + 1) + released
    _, first, same = np.unique(cause, return_index=True, return_inverse=True)
    first = first[released[first] < outputs]
    with np.errstate(divide="ignore", invalid="ignore"):  # a release that the law calls impossible
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
    """Step with chosen words. A case is a row of the state together with an input."""

    mechanism: EnumerableMechanism
    state: State

    def at(self, case: Integers) -> State:
        return taken(self.state, case // self.mechanism.outcomes[0])

    def step(self, case: Integers, words: Words) -> tuple[State, Releases]:
        given = case % self.mechanism.outcomes[0]
        return self.mechanism.step(self.at(case), Inputs(given), ChosenWords(words))

    def purposes(self) -> int:
        """Return how many words a step draws for each row."""
        draws = ChosenWords(np.zeros((1, 2), dtype=np.uint64))
        self.mechanism.step(self.at(np.zeros(1, dtype=np.int64)), Inputs(np.zeros(1, int)), draws)
        return len(draws.purposes)

    def indices(self, releases: Releases) -> Integers:
        """Return the numbers of the releases; what is none of the law counts as one more."""
        outputs, outcomes = self.mechanism.outcomes[1], releases.values
        if isinstance(self.mechanism, RepeatingMechanism):
            outcomes = self.mechanism.outcome_of(releases)
        return np.where((outcomes >= 0) & (outcomes < outputs), outcomes, outputs)


@dataclass(frozen=True)
class _Pieces:
    """Hold pieces in which all first words do the same: one of each, or none `(pieces, 0)`."""

    case: Integers
    first: Words
    share: Floats

    def words(self, piece: Integers, last: Words) -> Words:
        """Return first and last words, `(words, purposes)`."""
        return np.concatenate([self.first[piece], last[:, None]], axis=1)


def _pieces(driver: _Driver, cases: int) -> _Pieces:
    case = np.arange(cases)
    if driver.purposes() < 2:
        return _Pieces(case, np.zeros((cases, 0), dtype=np.uint64), np.ones(cases))
    second = spread(_SECOND_WORDS)

    def released_by(case: Integers, word: Words) -> Integers:
        both = np.stack([np.repeat(word, len(second)), np.tile(second, len(word))], axis=1)
        _, releases = driver.step(np.repeat(case, len(second)), both)
        return driver.indices(releases).reshape(len(case), len(second))

    words = spread(_FIRST_CELLS)
    given = released_by(np.repeat(case, len(words)), np.tile(words, cases))
    halved = intervals(words, given.reshape(cases, len(words), -1), released_by)
    kind = np.concatenate([halved.case[:, None], halved.label], axis=1)
    kinds, first, same = np.unique(kind, axis=0, return_index=True, return_inverse=True)
    share = np.zeros(len(kinds))
    np.add.at(share, same.ravel(), halved.share)
    return _Pieces(kinds[:, 0], halved.word[first, None], share)


def _towards_the_end(words: Words) -> Words:
    """Add the ends of ever shorter intervals: what is unlikely tends to be last."""
    quarters = np.array([4, 5, 6, 7], dtype=np.uint64)
    ends = LAST_WORD - (quarters[:, None] << np.arange(55, dtype=np.uint64)).ravel()
    return np.unique(np.concatenate([words, ends]))


def _function_of(same: Integers, column: Array) -> bool:
    """Return whether entries that are the `same` are equal."""
    first = np.unique(same, return_index=True)[1]
    return _equal(column, column[first][same])


def _equal(column: Array, other: Array) -> bool:
    return bool(column.tobytes() == other.tobytes())

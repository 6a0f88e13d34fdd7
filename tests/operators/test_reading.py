"""What a reader makes of releases, with public parameters alone."""

from dataclasses import dataclass

import numpy as np
import pytest

from operators.budget import Budgeted
from operators.mechanism import Array, Inputs, Kind, Releases
from operators.randomness import DrawScope, Secret, record_positions
from operators.reading import (
    CountReader,
    DifferenceReader,
    PosteriorReader,
    ShareReader,
    share_reader,
)
from operators.registry import KINDS
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.markov_model import MarkovModel

FRESH, REPEATED = Kind.FRESH, Kind.REPEATED
STICKY = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)


@dataclass(frozen=True)
class Law:
    symbols: int
    reported_if_true: float
    reported_if_other: float


def releases(values: list[object], *kinds: Kind) -> Releases:
    return Releases(np.array(values), kinds=np.array(kinds))


def test_a_reader_follows_a_stream_through_a_budget_as_the_mechanism_does() -> None:
    crr = ConditionalRandomizedResponse(STICKY, epsilon=1.0)
    budgeted = Budgeted(crr, total=2.5, window=4)
    reader = share_reader(crr)
    assert reader is not None
    scope = DrawScope(Secret(bytes(32)), "demo", "crr", 1, budgeted.law_digest())
    state, known = budgeted.start(3), reader.start(3)
    truth = np.array([0, 1, 1])
    kinds: set[int] = set()
    for position in record_positions("vitals", 0, range(8)):
        draws = scope.draws([b"a", b"b", b"c"], [position] * 3)
        state, released = budgeted.step(state, Inputs(truth), draws)
        known, told = reader.read(known, released)
        assert known["belief"].tolist() == state["belief"].tolist()
        fresh: Array = np.asarray(released.kinds == FRESH)
        shown = released.values[fresh]
        said = released.annotations["confidence"][fresh]
        assert told[np.arange(len(shown)), shown] == pytest.approx(said)
        kinds.update(np.asarray(released.kinds).tolist())
    assert kinds == {FRESH, REPEATED}


def test_a_difference_reader_keeps_the_same_belief() -> None:
    crr = ConditionalRandomizedResponse(STICKY, epsilon=1.0)
    readers: list[ShareReader] = [PosteriorReader(crr), DifferenceReader(crr)]
    states = [reader.start(2) for reader in readers]
    for values, kinds in [([0, 1], (FRESH, FRESH)), ([0, 0], (REPEATED, FRESH))] * 3:
        given = releases(list(values), *kinds)
        before = states[1]["belief"]
        told = []
        for number, reader in enumerate(readers):
            states[number], said = reader.read(states[number], given)
            told.append(said)
        assert states[0]["belief"].tolist() == states[1]["belief"].tolist()
        fresh = given.kinds == FRESH
        law = crr.law(before[fresh].T)
        assert told[1].tolist() == law.report(given.values[fresh]).T.tolist()
        assert told[1].sum(axis=1) == pytest.approx(1.0)
        assert told[0].shape == told[1].shape


def test_counts_of_symbols_are_corrected_release_by_release() -> None:
    reader = CountReader(Law(symbols=3, reported_if_true=0.6, reported_if_other=0.2))
    state, told = reader.read(reader.start(3), releases([2, 0, 1], FRESH, FRESH, REPEATED))
    assert state == {}
    assert told == pytest.approx(np.array([[-0.5, -0.5, 2.0], [2.0, -0.5, -0.5]]))
    counts = np.array([1, 0, 1])
    assert told.mean(axis=0) == pytest.approx((counts / 2 - 0.2) / (0.6 - 0.2))


def test_counts_of_sets_are_corrected_bit_by_bit() -> None:
    reader = CountReader(Law(symbols=2, reported_if_true=0.5, reported_if_other=0.25))
    sets: list[object] = [[True, True], [False, True], [True, False]]
    _, told = reader.read(reader.start(3), releases(sets, FRESH, FRESH, REPEATED))
    assert told == pytest.approx(np.array([[3.0, 3.0], [-1.0, 3.0]]))


@pytest.mark.parametrize("kind", ["crr", "paper_crr"])
def test_mechanisms_of_symbols_can_be_read(kind: str) -> None:
    assert share_reader(KINDS[kind].examples()[0].mechanism) is not None


def test_numbers_have_no_shares() -> None:
    assert share_reader(KINDS["laplace"].examples()[0].mechanism) is None

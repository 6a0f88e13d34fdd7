"""Carry rows of one law on under another: what is spent, and what a budget remembers."""

from dataclasses import replace

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.carrying.carry import Carry, carry_between, places_of
from fugu.operators.mechanism import Mechanism, State
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.markov_model import MarkovModel

GRR = GeneralizedRandomizedResponse(symbols=3, epsilon=1.0)
HALF = GeneralizedRandomizedResponse(symbols=3, epsilon=0.5)
OUE = OptimizedUnaryEncoding(symbols=3, epsilon=1.0)
MODEL = MarkovModel.smoothed([0.2, 0.3, 0.5], np.full((3, 3), 1 / 3), smoothing=0.01)
CRR = ConditionalRandomizedResponse(MODEL, 1.0)
SAME = np.arange(3)


def nats(*amounts: float) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    return np.array([int(amount * UNITS_PER_NAT) for amount in amounts])


def life(mechanism: GeneralizedRandomizedResponse, total: float) -> Budgeted:
    return Budgeted(mechanism, total)


def window(total: float, length: int) -> Budgeted:
    return Budgeted(GRR, total, length)


def spending(carry: Carry, **columns: object) -> State:
    rows = carry.was.start(2)
    return carry.rows({**rows, **{name: np.array(column) for name, column in columns.items()}})


def test_a_budget_goes_on_and_what_is_exhausted_stays_so() -> None:
    carry = carry_between(life(GRR, 2.0), life(HALF, 9.0), SAME)
    rows = spending(carry, spent=nats(2.0, 1.0), budget_last=[2, 1], budget_exhausted=[True, False])
    assert rows["spent"].tolist() == nats(2.0, 1.0).tolist()
    assert rows["budget_last"].tolist() == [2, 1]
    assert rows["budget_exhausted"].tolist() == [True, False]


def test_the_last_release_has_the_place_of_its_symbol_in_the_new_alphabet() -> None:
    grown = GeneralizedRandomizedResponse(symbols=4, epsilon=1.0)
    places = places_of(["a", "b", "c"], ["b", "new", "c", "a"])
    carry = carry_between(life(GRR, 2.0), life(grown, 2.0), places)
    assert spending(carry, budget_last=[0, 2])["budget_last"].tolist() == [3, 2]
    assert carry.lasting(
        {"spent": nats(2.0), "budget_last": np.array([1]), "budget_exhausted": np.array([True])}
    )["budget_last"].tolist() == [0]


def test_a_release_that_the_next_law_cannot_make_is_not_repeated() -> None:
    carry = carry_between(life(GRR, 2.0), Budgeted(OUE, 2.0), SAME)
    last = spending(carry, budget_last=[2, 2])["budget_last"]
    assert (last == Budgeted(OUE, 2.0).start(2)["budget_last"]).all()


@pytest.mark.parametrize(
    ("length", "expected"), [(2, [1.0]), (4, [2.0, 0.5, 1.0]), (6, [0.0, 0.0, 2.0, 0.5, 1.0])]
)
def test_a_window_remembers_what_it_needs_and_never_less(
    length: int, expected: list[float]
) -> None:
    """Two nats were spent before the positions that are known: as if at the newest of the others,
    where they count longest."""
    carry = carry_between(window(2.0, 3), window(3.0, length), SAME)
    before = [nats(0.5, 1.0), nats(0.5, 1.0)]
    rows = spending(carry, spent=nats(3.5, 3.5), budget_window=before)
    assert rows["budget_window"][0].tolist() == nats(*expected).tolist()


def test_streams_without_a_budget_go_on_under_one() -> None:
    rows = spending(carry_between(GRR, window(3.0, 3), SAME), spent=nats(3.5, 0.0))
    assert rows["budget_window"].tolist() == [nats(0.0, 3.5).tolist(), [0, 0]]
    rows = spending(carry_between(GRR, life(GRR, 9.0), SAME), spent=nats(3.5, 0.0))
    assert rows["budget_exhausted"].tolist() == [False, False]


def test_a_total_below_what_was_spent_is_counted_for_everybody() -> None:
    carry = carry_between(Budgeted(CRR, 4.0), life(GRR, 3.0), SAME)
    assert carry.factor == 2
    assert carry.beyond({"spent": nats(1.0, 1.5, 1.75, 4.0)}) == 2
    assert carry_between(CRR, GRR, SAME).beyond({"spent": nats(9.0)}) == 0


def test_a_ledger_that_is_full_stays_full() -> None:
    carry = carry_between(CRR, GRR, SAME)
    assert carry.rows({**CRR.start(1), "spent": np.array([2**62])})["spent"].tolist() == [2**62]


@pytest.mark.parametrize(
    ("was", "becomes", "why"),
    [
        (life(GRR, 2.0), GRR, "a budget stays"),
        (life(GRR, 2.0), window(2.0, 3), "window promises less"),
        (Budgeted(CRR, 2.0, 5), ConditionalRandomizedResponse(MODEL, 0.5), "a budget stays"),
        (GRR, ConditionalRandomizedResponse(MODEL, 1.0, gaps=Gaps(60_000, 9)), "operator.step"),
        (PaperConditionalRandomizedResponse(MODEL, 1.0), GRR, "promises nothing"),
        (OUE, CRR, "streams of oue cannot go on under crr"),
        (
            ConditionalRandomizedResponse(MODEL, 1.0, gaps=Gaps(60_000, 9)),
            ConditionalRandomizedResponse(MODEL, 1.0, gaps=Gaps(30_000, 9)),
            "operator.step",
        ),
    ],
)
def test_what_would_not_be_sound_is_refused(was: Mechanism, becomes: Mechanism, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        carry_between(was, becomes, SAME)


def test_a_budget_over_a_window_hides_positions_from_a_replay() -> None:
    other = MarkovModel.smoothed([0.2, 0.3, 0.5], np.eye(3), smoothing=0.01)
    becomes = ConditionalRandomizedResponse(other, 1.0)
    with pytest.raises(ValueError, match="positions without a release"):
        carry_between(Budgeted(CRR, 2.0, 5), Budgeted(becomes, 2.0, 5), SAME)
    same = replace(CRR, epsilon=0.5)
    assert carry_between(Budgeted(CRR, 2.0, 5), Budgeted(same, 2.0, 5), SAME).form == "kept"


def test_an_alphabet_that_loses_a_symbol_is_refused() -> None:
    with pytest.raises(ValueError, match=r"symbol 2 of the old one is not in the new one"):
        places_of(["a", "b"], ["a", "c"])

"""The constants of integer laws, against the specification and against exact arithmetic."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pytest

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Floats, State
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.integer_law import IntegerLaw
from fugu.operators.sip.kernels import Mode
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.privacy_bound import PrivacyBound, Radius, bit_lengths, doubt
from tests.thinned import first_in_test

SPECIFIED = {
    0.001: ("0x1.0041919b7ee33p+0", "0x1.06466dfb8cc00p-10"),
    0.5: ("0x1.a61298e1e069bp+0", "0x1.4c2531c3c0d36p-1"),
    1.0: ("0x1.5bf0a8b145769p+1", "0x1.b7e151628aed2p+0"),
    36.0: ("0x1.ea215a1d20d76p+51", "0x1.ea215a1d20d74p+51"),
    50.0: ("0x1.19103e4080b45p+72", "0x1.19103e4080b44p+72"),
}


@pytest.mark.parametrize("epsilon", SPECIFIED)
def test_bounds_are_those_of_the_specification(epsilon: float) -> None:
    bound = PrivacyBound.of(epsilon)
    assert (bound.growth.hex(), bound.gain.hex()) == SPECIFIED[epsilon]


def test_bounds_are_the_largest_doubles_below_what_they_bound() -> None:
    with localcontext() as context:
        context.prec = 100
        for step in range(1, 500):
            bound = PrivacyBound.of(step / 10.0)
            exact = Fraction(Decimal(step / 10.0).exp())
            assert bound.growth <= exact < nextafter(bound.growth, 1e300)
            assert bound.gain <= Fraction(bound.growth) - 1 < nextafter(bound.gain, 1e300)
            assert bound.charge - 1 < Fraction(step / 10.0) * 2**40 <= bound.charge


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 50.1, float("nan"), float("inf"), 1e-17])
def test_an_epsilon_out_of_range_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"^epsilon: "):
        PrivacyBound.of(epsilon)


def test_an_epsilon_that_leaves_too_few_words_is_refused() -> None:
    assert PrivacyBound.of(5e-11).reserve(10_000) < 2.0**62
    with pytest.raises(ValueError, match=r"^epsilon: .* too small"):
        PrivacyBound.of(3e-11).reserve(10_000)


def test_doubt_grows_with_distance_and_alphabet() -> None:
    assert doubt(0.0, 2) == 72 * 2.0**-53
    assert doubt(0.0, 2) < doubt(0.0, 3) < doubt(1e-9, 3) < doubt(0.125, 3) < 0.15


# Bound how far beliefs in doubles are from exact ones, and what that costs.


UNIT = 2.0**-53
STICKY = MarkovModel.smoothed([0.5, 0.5], np.eye(2), smoothing=1e-12)
MIXING = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], smoothing=0.0)


def test_the_bound_is_that_of_the_specification() -> None:
    radius = Radius.of(roundings=5, excess=1e-15, memory=1e10)
    step = 2.0 * 13 * UNIT * (1.0 + 2.0**-20) + 2e-15
    assert radius.step == pytest.approx(step, rel=1e-6)
    assert radius.step >= step
    assert radius.distances([0, 1, 2, 3, 4, 1023, 1024]).tolist() == [
        radius.step * factor for factor in (1, 2, 4, 4, 8, 1024, 2048)
    ]
    assert radius.distances([2**62]).tolist() == [radius.most] == [radius.step * 1e10]


def test_bit_lengths_are_those_of_integers() -> None:
    numbers = [0, 1, 2, 3, 2**31 - 1, 2**31, 2**52, 2**53 - 1, 2**62]
    assert bit_lengths(np.array(numbers)).tolist() == [number.bit_length() for number in numbers]


def test_what_may_be_off_by_more_than_an_eighth_is_in_infinite_doubt() -> None:
    doubts = Radius.of(roundings=2, excess=0.0, memory=inf).doubts(2)
    finite = np.flatnonzero(np.isfinite(doubts))
    assert 0 < finite[-1] < 64
    assert (np.diff(doubts[finite]) > 0.0).all()
    assert doubts[finite[-1]] <= doubt(0.125, 2)


def test_the_excess_of_a_model_is_that_of_its_worst_row() -> None:
    rows = np.array([[0.5, 0.5], [0.1 + 2.0**-45, 0.9]])
    assert MarkovModel(np.array([0.5, 0.5]), rows).excess == pytest.approx(2.0**-45, rel=1e-3)


@pytest.mark.parametrize(
    ("mechanism", "counts"),
    [
        (ConditionalRandomizedResponse(MIXING, 1.0), False),
        (ConditionalRandomizedResponse(STICKY, 1.0), True),
        (AdaptiveRelease(MIXING, 1.0, 1.0), False),
        (AdaptiveRelease(STICKY, 1.0, 1.0), True),
        (ColdStart(2, 1.0, positions=4, when_short="accept"), False),
        (ColdStart(2, 1.0, positions=4, alpha=1e-12, when_short="accept"), True),
    ],
)
def test_only_states_whose_bound_depends_on_it_count_predictions(
    mechanism: ConditionalRandomizedResponse | AdaptiveRelease | ColdStart, counts: bool
) -> None:
    state = mechanism.start(3)
    assert ("predictions" in state) == counts
    state, _ = mechanism.observe(state, np.zeros(3, dtype=np.int64))
    state, _ = mechanism.skip(state, np.zeros(3, dtype=np.int64))
    assert not counts or state["predictions"].tolist() == [2, 2, 2]


def exact_numbers(doubles: Floats) -> list[Decimal]:
    return [Decimal(float(double)) for double in doubles]


def words_given(law: IntegerLaw, truth: int) -> list[Decimal]:
    if law.constant[0] >= 0:
        return [Decimal(2**64 * int(y == law.constant[0])) for y in range(len(law.belief))]
    return [Decimal(int(words)) for words in law.weights(np.array([truth]))[:, 0]]


@pytest.mark.slow
@pytest.mark.parametrize("path", first_in_test(["flip", "stay", "rare"], 1))
@pytest.mark.parametrize("mode", ["optimal", "full_support"])
def test_a_thousand_releases_at_25_nats_cost_what_they_leak_and_never_twice(
    mode: Mode, path: str
) -> None:
    """A chain that all but never moves, against a filter of 60 digits; the charge was doubled."""
    mechanism = ConditionalRandomizedResponse(STICKY, 25.0, mode=mode)
    state, most = mechanism.start(1), mechanism.largest_charge
    assert most == 25 * UNITS_PER_NAT
    with localcontext() as context:
        context.prec = 60
        rows = [exact_numbers(row) for row in STICKY.transition]
        rows = [[entry / sum(row) for entry in row] for row in rows]
        exact = [Decimal(1) / 2] * 2
        for step in range(1_000):
            law = mechanism.law(
                state["belief"].T.copy(), mechanism.radius.doubt(state, mechanism.doubts)
            )
            assert isinstance(law, IntegerLaw)
            check_distance(mechanism, state, exact)
            given = [words_given(law, truth) for truth in range(2)]
            likely = int(np.argmax(state["belief"][0]))
            wanted = {"stay": 0, "flip": step % 2, "rare": 1 - likely if step % 3 else likely}[path]
            release = wanted if given[0][wanted] > 0 else likely
            q = sum(p * row[release] for p, row in zip(exact, given, strict=True))
            leaked = max(abs((row[release] / q).ln()) for row in given)
            state, _ = mechanism.observe(before := state, np.array([release]))
            charged = int((state["spent"] - before["spent"])[0])
            assert leaked <= Decimal(charged) / UNITS_PER_NAT + Decimal("1e-50")
            assert charged <= most
            told = [p * row[release] for p, row in zip(exact, given, strict=True)]
            moved = [told[0] * rows[0][v] + told[1] * rows[1][v] for v in range(2)]
            exact = [share / (told[0] + told[1]) for share in moved]
    assert state["predictions"].tolist() == [1_000]


def check_distance(
    mechanism: ConditionalRandomizedResponse, state: State, exact: list[Decimal]
) -> None:
    ratios = [b / p for b, p in zip(exact_numbers(state["belief"][0]), exact, strict=True)]
    distance = (max(ratios) / min(ratios)).ln()
    assert distance <= Decimal(float(mechanism.radius.distances(state["predictions"])[0]))

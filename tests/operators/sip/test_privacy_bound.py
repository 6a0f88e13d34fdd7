"""The constants of integer laws, against the specification and against exact arithmetic."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import nextafter

import pytest

from fugu.operators.sip.privacy_bound import PrivacyBound, doubt

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

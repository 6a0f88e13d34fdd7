"""Why there is no binomial mechanism: integer noise on a mixture publishes its fraction exactly.

Zhang et al. release (1 - w) p + w z + noise, with a prediction p that everybody knows. Binomial
noise is an integer, so the fraction of w z is public. Discrete noise must meet values on its grid.

Source: real-time release specification, section 5.1.
"""

from fractions import Fraction
from math import comb, exp

import pytest

TRIALS = 400
"""m = 200 in the paper: heads of 2 m coins, less m."""


def outputs(mixture: Fraction) -> dict[Fraction, float]:
    """The law of a mixture with centred binomial noise."""
    return {
        mixture + heads - TRIALS // 2: comb(TRIALS, heads) / 2**TRIALS
        for heads in range(TRIALS + 1)
    }


def exact_delta(one: Fraction, other: Fraction, epsilon: float) -> float:
    likely = outputs(other)
    return sum(
        max(0.0, probability - exp(epsilon) * likely.get(output, 0.0))
        for output, probability in outputs(one).items()
    )


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 50.0])
def test_a_mixture_tells_neighbours_apart_with_certainty(epsilon: float) -> None:
    weight = Fraction(1, 2)
    assert exact_delta(weight * 7, weight * 8, epsilon) == pytest.approx(1.0)


def test_values_on_the_grid_of_the_noise_are_protected() -> None:
    """7 and 8 differ by one step: delta is 1.0e-8, where the lemma of the paper says 7.4e-6."""
    assert exact_delta(Fraction(7), Fraction(8), 0.5) == pytest.approx(1.0e-8, rel=0.05)

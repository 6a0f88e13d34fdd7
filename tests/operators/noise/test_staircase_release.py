"""Staircase noise: its law against the claim, its sampler, and what it saves beside Laplace."""

from fractions import Fraction
from itertools import product
from math import exp, expm1, log, sqrt

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Inputs, Integers
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.noise.staircase_release import (
    LEVEL_BITS,
    STAIR_BITS,
    TOTAL_VARIATION,
    WORDS_PER_DRAW,
    StaircaseRelease,
    StaircaseSampler,
)
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.noise.simulated import SMALLEST_P_VALUE, SimulatedDraws, p_value

BITS = 3
STAIR = 1 << BITS
LEVELS = 40
each_epsilon = pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])


def examples(kind: type[StaircaseRelease]) -> tuple[Example, ...]:
    tenths, far = kind(lower=0, upper=1000, epsilon=1.0, units_per_one=10), 2**52
    return (
        Example(tenths, np.array([0, 250, 725, 1000])),
        Example(kind(lower=-1, upper=1, epsilon=0.1), np.array([-1, 1, 7])),
        Example(kind(-far, far, epsilon=2.5), np.array([-far, -3, far - 1])),
        Example(Budgeted(tenths, total=3.0), np.array([0, 725])),
    )


EXAMPLES: Examples = {StaircaseRelease: examples}
UNUSABLE: Unusable = {
    StaircaseRelease: {
        "lower": (2**60, -(2**62)),
        "upper": (-(2**60), 2**62),
        "epsilon": (*EPSILONS, 20.1, 1e-8),
        "units_per_one": (0, -1, 10**12 + 1),
    },
}


def weight(sampler: StaircaseSampler, point: int) -> float:
    """The weight of a point in the law of the paper: e^-epsilon for each stair from the centre."""
    distance = point if point >= 0 else -1 - point
    level = 0 if distance < sampler.half_centre else (distance - sampler.half_centre) // STAIR + 1
    return exp(-sampler.epsilon * level)


def drawn_law(sampler: StaircaseSampler) -> dict[int, Fraction]:
    """The exact law of what integer thresholds draw, up to a few levels, from uniform words."""
    inside = Fraction(sampler.centre, 2**64)
    parts = 2 * sampler.half_centre
    cuts = [-(-part * 2**64 // parts) for part in range(parts + 1)]
    law = {
        part - sampler.half_centre: inside * Fraction(cuts[part + 1] - cuts[part], 2**64)
        for part in range(parts)
    }
    ones = [Fraction(threshold, 2**64) for threshold in sampler.digits]
    for level in range(LEVELS):
        chance = (1 - inside) / 2 / STAIR
        for digit, one in enumerate(ones):
            chance *= one if level >> digit & 1 else 1 - one
        for place in range(STAIR):
            point = sampler.half_centre + level * STAIR + place
            law[point] = law[-1 - point] = chance
    return law


@each_epsilon
def test_the_law_of_the_thresholds_is_the_staircase(epsilon: float) -> None:
    sampler = StaircaseSampler(epsilon, BITS)
    law, b = drawn_law(sampler), exp(-epsilon)
    whole = 2 * sampler.half_centre + 2 * STAIR * b / (1.0 - b)
    for point, chance in law.items():
        assert float(chance) == pytest.approx(weight(sampler, point) / whole, rel=1e-9, abs=1e-18)


@each_epsilon
def test_no_shift_by_at_most_the_sensitivity_tells_more_than_epsilon(epsilon: float) -> None:
    """All points and all shifts of the small grid; what finite precision adds is its delta."""
    law = drawn_law(StaircaseSampler(epsilon, BITS))
    slack = Fraction(2 * TOTAL_VARIATION)
    worst = 0.0
    for point, shift in product(law, range(1, STAIR + 1)):
        if point + shift in law:
            one, other = law[point], law[point + shift]
            assert max(one, other) <= Fraction(exp(epsilon)) * min(one, other) + slack
            worst = max(worst, abs(log(one / other)) if min(one, other) > slack else 0.0)
    assert worst == pytest.approx(epsilon, rel=1e-6)


def test_a_shift_beyond_the_sensitivity_tells_more_than_epsilon() -> None:
    """The attack that a stair of half the width would allow."""
    law = drawn_law(StaircaseSampler(1.0, BITS))
    assert max(law[p] / law[p + 2 * STAIR] for p in range(STAIR)) > Fraction(exp(1.9))


@each_epsilon
def test_draws_follow_the_law(epsilon: float) -> None:
    """A sound sampler fails with probability 1e-4; the seed is fixed."""
    sampler, rng = StaircaseSampler(epsilon, BITS), np.random.default_rng(7)
    words = rng.integers(2**64, size=(200_000, WORDS_PER_DRAW), dtype=np.uint64)
    middle = range(-2 * STAIR, 2 * STAIR)
    inside = np.isin(found := sampler.sample(words), middle)
    cells = np.where(inside, found + 2 * STAIR, 4 * STAIR)
    law = drawn_law(sampler)
    chances = [float(law[point]) for point in middle]
    assert p_value(cells, np.array([*chances, 1.0 - sum(chances)])) > SMALLEST_P_VALUE


@pytest.mark.parametrize("epsilon", [2.0**-20, 0.5, 1.0, 8.0, 20.0])
def test_the_real_sampler_has_the_optimal_centre_within_six_bits(epsilon: float) -> None:
    sampler = StaircaseSampler(epsilon)
    gamma = sampler.half_centre / 2**STAIR_BITS
    assert gamma == pytest.approx(1.0 / (1.0 + exp(epsilon / 2.0)), rel=2.0**-5)
    assert len(sampler.digits) == LEVEL_BITS


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_the_mean_error_is_that_of_the_paper_and_below_that_of_laplace(epsilon: float) -> None:
    """Theorem of Geng and Viswanath; a sound sampler fails with probability 1e-4."""
    release, truth = StaircaseRelease(0, 1000, epsilon), 300
    rows, simulated = 100_000, SimulatedDraws(np.random.default_rng(11))
    _, released = release.step(release.start(rows), Inputs(np.full(rows, truth)), simulated)
    errors = np.abs(released.values - truth)
    best = 1000.0 * exp(epsilon / 2.0) / expm1(epsilon)
    assert errors.mean() == pytest.approx(best, abs=4.0 * errors.std() / sqrt(rows))
    assert best < 1000.0 / epsilon
    laplace = LaplaceRelease(0, 1000, epsilon)
    assert release.standard_deviation < laplace.standard_deviation
    assert (released.values - truth).std() == pytest.approx(release.standard_deviation, rel=0.02)
    assert abs(released.values.mean() - truth) < 4.0 * release.standard_deviation / sqrt(rows)


def test_neighbours_at_the_ends_of_the_range_differ_by_one_stair() -> None:
    noise = StaircaseRelease(-7, 90, 0.3).noise
    ends: Integers = noise.grid.index(np.array([-7, 90]))
    assert ends[1] - ends[0] == noise.index_sensitivity == 2**STAIR_BITS


def test_the_promise_is_local_differential_privacy_with_a_stated_delta() -> None:
    (guarantee,) = StaircaseRelease(0, 10, 1.0).guarantees()
    assert (guarantee.notion, guarantee.epsilon, guarantee.delta) == ("ldp", 1.0, 0.0)
    assert 0.0 < guarantee.finite_precision_delta < 2e-17


def test_a_pipeline_file_can_name_it() -> None:
    from fugu.dataflows.kinds import KINDS

    section = KINDS["staircase"].model_validate(
        {"kind": "staircase", "lower": -5.5, "upper": 200, "unit": 0.1, "epsilon": 0.5}
    )
    mechanism = section.mechanism(None)  # type: ignore[arg-type]
    assert isinstance(mechanism, StaircaseRelease)
    assert (mechanism.lower, mechanism.upper, mechanism.units_per_one) == (-55, 2000, 10)

"""Two releases about the same people: joint leakage, and sums that are no bound."""

from decimal import Decimal, localcontext
from itertools import product
from math import exp, log

import numpy as np
import pytest

from fugu.operators.leakage.combined import combined, in_series
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.leakage_function import Matrix
from tests.operators.leakage.chains import A, B, C

TICKS = 5


def both(matrix: Matrix) -> TemporalCorrelation:
    """The same matrix in both directions."""
    return TemporalCorrelation.of(matrix, matrix)


@pytest.mark.parametrize(
    ("matrix", "joint", "separate"), [(A, 9.147309, 8.516261), (C, 3.583871, 4.174742)]
)
def test_joint_leakage_is_the_printed_one_and_the_sum_may_be_more_or_less(
    matrix: Matrix, joint: float, separate: float
) -> None:
    each = both(matrix), [1.0] * TICKS
    assert combined("parallel", each, each).backward[-1] == pytest.approx(joint, abs=1e-6)
    assert combined("independent", each, each).backward[-1] == pytest.approx(separate, abs=1e-6)


def exact(backward: Matrix, responses: list[float]) -> float:
    """The worst log-ratio between the last values, over all outputs of randomized responses."""
    before, worst = np.array(backward), 0.0
    tick = np.array([[exp(e), 1.0] for e in responses]) / (1.0 + np.exp(responses))[:, None]
    answers = [
        np.array([np.prod([law[bit ^ truth] for bit, law in zip(bits, tick, strict=True)])
                  for truth in (0, 1)])
        for bits in product((0, 1), repeat=len(responses))
    ]  # fmt: skip
    for outputs in product(answers, repeat=TICKS):
        known = outputs[0]
        for answer in outputs[1:]:
            known = answer * (before @ known)
        worst = max(worst, abs(log(known[0] / known[1])))
    return worst


@pytest.mark.parametrize("matrix", [A, B, C])
def test_joint_leakage_bounds_all_outputs_of_two_responses_and_the_sum_does_not(
    matrix: Matrix,
) -> None:
    each = both(matrix), [1.0] * TICKS
    leaked = exact(matrix, [1.0, 1.0])
    joint = combined("parallel", each, each).backward[-1]
    assert 0.99 * joint <= leaked <= joint * (1 + 1e-12)
    if matrix is A:
        assert leaked > combined("independent", each, each).backward[-1] + 0.6


def test_independent_attributes_add_all_four_terms() -> None:
    each = both(C), [1.0, 1.0]
    assert combined("independent", each, each).backward[1] == pytest.approx(3.0999, abs=1e-4)


def test_of_different_people_the_larger_leakage_counts() -> None:
    one, other = (both(B), [1.0] * TICKS), (both(C), [0.5] * TICKS)
    joined = combined("disjoint", one, other)
    separate = [one[0].over(one[1]), other[0].over(other[1])]
    assert joined.total == tuple(map(max, *(leakage.total for leakage in separate)))


def test_a_release_of_reports_tells_what_these_tell_and_less_if_the_first_is_memoryless() -> None:
    one, other = (both(B), [1.0, 0.2]), (both(B), [0.5, 2.0])
    assert combined("serial", one, other) == both(B).over([1.0, 0.2])
    less = [in_series(1.0, 0.5), in_series(0.2, 2.0)]
    assert combined("serial", one, other, memoryless=True) == both(B).over(less)


def test_two_responses_in_series_tell_exactly_this_of_one_bit() -> None:
    assert in_series(1.0, 1.0) == pytest.approx(0.433781, abs=1e-6)
    for first, second in product([0.0, 1e-9, 1e-6, 0.1, 1.0, 3.0, 20.0, 650.0, 900.0], repeat=2):
        told = in_series(first, second)
        with localcontext() as context:
            context.prec = 800
            odds = Decimal(first).exp(), Decimal(second).exp()
            exactly = ((odds[0] * odds[1] + 1) / (odds[0] + odds[1])).ln()
            assert exactly <= Decimal(told) <= exactly * (1 + Decimal(2) ** -46)
        assert told == in_series(second, first) <= min(first, second)


def test_no_reports_in_series_tell_more_whatever_their_laws() -> None:
    """Any alphabet, and everything that is ever released of a report, in one law."""
    rng = np.random.default_rng(9)
    for _ in range(300):
        values, reports, releases = rng.integers(2, 6, size=3)
        first = rng.dirichlet(np.full(reports, rng.choice([0.3, 1.0, 20.0])), size=values)
        second = rng.dirichlet(np.full(releases, rng.choice([0.3, 1.0, 20.0])), size=reports)
        told = in_series(largest_ratio(first), largest_ratio(second))
        assert largest_ratio(first @ second) <= told * (1 + 1e-9)


def largest_ratio(laws: Matrix) -> float:
    """The most nats by which two rows differ."""
    logs = np.log(laws)
    return float((logs.max(axis=0) - logs.min(axis=0)).max())


def test_releases_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="as many ticks"):
        combined("parallel", (both(A), [1.0]), (both(A), [1.0, 1.0]))

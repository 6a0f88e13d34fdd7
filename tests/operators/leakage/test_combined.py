"""Two releases about the same people: joint leakage, and sums that are no bound."""

from itertools import product
from math import exp, log

import numpy as np
import pytest

from fugu.operators.leakage.combined import combined, of_binary_reports
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.matrices import Matrix
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


def test_a_release_of_reports_tells_no_more_than_either_and_exactly_this_of_one_bit() -> None:
    one, other = (both(B), [1.0, 0.2]), (both(B), [0.5, 2.0])
    assert combined("serial", one, other) == both(B).over([0.5, 0.2])
    assert of_binary_reports(1.0, 1.0) == pytest.approx(0.433781, abs=1e-6)
    for local, central in [(1.0, 1.0), (0.1, 3.0), (1e-6, 1e-6), (20.0, 20.0)]:
        kept, right = (1 / (1 + exp(-local)), 1 / (1 + exp(-central)))
        exactly = log((kept * right + (1 - kept) * (1 - right)) / (kept + right - 2 * kept * right))
        assert of_binary_reports(local, central) == pytest.approx(exactly, rel=1e-6)
        assert of_binary_reports(local, central) <= min(local, central)


def test_releases_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="as many ticks"):
        combined("parallel", (both(A), [1.0]), (both(A), [1.0, 1.0]))

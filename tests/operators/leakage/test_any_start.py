"""What is told whatever the first value was: the maximum over laws, powers, and limits."""

from fractions import Fraction
from itertools import pairwise, product
from math import exp, inf, log

import numpy as np
import pytest

from fugu.operators.leakage.any_start import AnyStart
from fugu.operators.leakage.correlation import TemporalCorrelation, recursion
from fugu.operators.leakage.inversion import largest_epsilon
from fugu.operators.mechanism import Floats
from tests.operators.leakage.chains import IDENTITY, UNIFORM, A, B, C, D, positive, with_zeros

CYCLE = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
ROUNDED_UP = 1.0 + 1e-11
"""The excess that a recursion may have, which rounds up at every tick."""
LEAVING = [[0.99, 0.01], [0.7, 0.3]]
ENTERED_FROM_ONE = [[0.0, 0.08, 0.92], [0.02, 0.0, 0.98], [0.06, 0.0, 0.94]]


def told(rows: Floats, law: Floats, likelihood: Floats) -> float:
    """How far what is known about the value before tells the values after it apart."""
    joint = law[:, None] * rows
    reached = joint.sum(axis=0) > 0.0
    averages = (likelihood[:, None] * joint).sum(axis=0)[reached] / joint.sum(axis=0)[reached]
    return float(np.log(averages.max() / averages.min()))


def test_no_law_and_no_likelihood_tell_more() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        size = int(rng.integers(2, 5))
        rows = positive(rng, size) if rng.random() < 0.5 else with_zeros(rng, size)
        alpha = float(rng.choice([0.1, 1.0, 4.0]))
        claimed = AnyStart.of(rows)(alpha)
        for _ in range(60):
            law = rng.dirichlet(np.full(size, rng.choice([0.05, 0.5, 2.0])))
            likelihood = np.exp(alpha * rng.integers(2, size=size))
            assert told(rows, law, likelihood) <= claimed + 1e-12


def test_some_law_and_likelihood_tell_as_much() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        rows, alpha = positive(rng, 3), float(rng.choice([0.1, 1.0, 4.0]))
        found = 0.0
        for one, other, now, then in product(range(3), repeat=4):
            ratio = rows[one, now] * rows[other, then] / (rows[other, now] * rows[one, then])
            if ratio > 1.0:
                law = np.zeros(3)
                law[one] = 1.0 / rows[one, then]
                law[other] = np.sqrt(ratio * exp(alpha)) / rows[other, then]
                likelihood = np.ones(3)
                likelihood[one] = exp(alpha)
                found = max(found, told(rows, law / law.sum(), likelihood))
        assert found == pytest.approx(AnyStart.of(rows)(alpha), abs=1e-11)


def exact_ratio(rows: Floats, steps: int) -> Fraction:
    """The largest ratio of products across, of the power of exactly these doubles."""
    matrix = [[Fraction(float(entry)) for entry in row] for row in rows]
    size = range(len(matrix))
    power = matrix
    for _ in range(steps - 1):
        power = [
            [sum((a[k] * matrix[k][j] for k in size), Fraction(0)) for j in size] for a in power
        ]
    return max(
        power[i][j] * power[k][m] / (power[k][j] * power[i][m])
        for i, j, k, m in product(size, repeat=4)
    )


def test_ratios_of_powers_are_never_below_the_exact_ones() -> None:
    rng = np.random.default_rng(3)
    for _ in range(6):
        rows = positive(rng, 3)
        claimed = AnyStart.of(rows)
        for steps, ratio in zip(claimed.steps[:6], claimed.ratios, strict=False):
            exact = exact_ratio(rows / rows.sum(axis=1, keepdims=True), steps)
            assert exact <= Fraction(ratio) <= exact * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize(
    ("rows", "steps", "finite"),
    [
        (IDENTITY, (1,), False),
        (A, (1,), False),
        (CYCLE, (1,), False),
        (UNIFORM, (1,), True),
        ([[0.0, 1.0], [0.5, 0.5]], (1, 2, 3, 4), True),
        ([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]], (1, 2, 3, 4), True),
        ([[0.2, 0.8, 0.0], [0.5, 0.5, 0.0], [0.3, 0.7, 0.0]], (1, 2), True),
    ],
)
def test_there_is_a_limit_where_the_same_values_can_follow_all(
    rows: list[list[float]], steps: tuple[int, ...], finite: bool
) -> None:
    claimed = AnyStart.of(rows)
    assert claimed.steps[: len(steps)] == steps
    assert (claimed.supremum(0.3) < inf) is finite
    assert claimed.bounded_below == (inf if finite else 0.0)


def test_what_doubles_lose_the_digits_of_counts_as_impossible() -> None:
    least = 5e-324
    rows = [[0.5, 0.5, 5 * least], [0.5, 0.5, 3 * least], [0.5, 0.5, least]]
    assert AnyStart.of(rows).supremum(0.1) == inf
    rare = [[1.0 - 1e-200, 1e-200, 0.0], [1.0 - 1e-200, 0.0, 1e-200], [1.0, 0.0, 0.0]]
    assert AnyStart.of(rare).supremum(0.1) == inf, "of its powers an entry is too small for doubles"


@pytest.mark.parametrize("rows", [B, C, D, LEAVING])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0, 30.0, 3000.0])
def test_no_stream_exceeds_the_supremum(rows: list[list[float]], epsilon: float) -> None:
    claimed = AnyStart.of(rows)
    limit = claimed.supremum(epsilon)
    followed = recursion(claimed, [epsilon] * 400)
    assert max(followed) <= limit * ROUNDED_UP
    assert max(followed) == pytest.approx(limit, rel=0.02)
    first = claimed.at_first(epsilon)
    assert epsilon < first <= limit
    assert max(recursion(claimed, [first, *[epsilon] * 400])) <= limit * ROUNDED_UP


def test_more_steps_leave_less() -> None:
    rng = np.random.default_rng(4)
    for _ in range(10):
        claimed = AnyStart.of(positive(rng, 4))
        left = [claimed.after(2.0, steps) for steps in range(40)]
        assert left[0] == 2.0
        assert left[1] == claimed(2.0)
        assert all(more >= less - 1e-12 for more, less in pairwise(left))


@pytest.mark.parametrize("rows", [B, D, LEAVING, A, [[0.0, 1.0], [0.5, 0.5]]])
def test_what_is_left_is_the_same_without_logarithms(rows: list[list[float]]) -> None:
    claimed = AnyStart.of(rows)
    for alpha in (0.0, 0.2, 3.0, 40.0):
        [left] = claimed.left_after_step(np.array([exp(-alpha)]))
        assert -log(left) == pytest.approx(claimed(alpha), abs=1e-12)
    limit = claimed.supremum(0.3)
    assert claimed.least_left(0.3) == pytest.approx(exp(-limit), rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "limit", "at_a_tenth", "for_one"),
    [
        (UNIFORM, 1.0, 0.1, 1.0),
        (B, 1.8014, 0.1868, 0.539524),
        (C, 3.3085, 0.3395, 0.287324),
        (D, 5.3691, 0.8826, 0.113921),
        (LEAVING, 4.0734, 0.4182, 0.239971),
        (ENTERED_FROM_ONE, 3.1887, 0.3124, 0.318946),
    ],
)
def test_the_table_of_the_page(
    rows: list[list[float]], limit: float, at_a_tenth: float, for_one: float
) -> None:
    """`docs/guarantees.md` rounds leakages up and budgets down."""
    correlation = TemporalCorrelation.of(rows)
    assert limit - 1e-4 <= correlation.limit(1.0) <= limit
    assert at_a_tenth - 1e-4 <= correlation.limit(0.1) <= at_a_tenth
    assert for_one <= largest_epsilon(correlation, 1.0) <= for_one + 1e-6

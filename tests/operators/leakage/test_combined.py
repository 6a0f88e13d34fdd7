"""A local and a central release together: the numbers of the specification, by wiring."""

from collections.abc import Callable
from decimal import Decimal
from itertools import product

import pytest

from fugu.operators.leakage.combined import (
    disjoint_users,
    independent_attributes,
    parallel,
    serial,
    serial_bit,
)
from fugu.operators.leakage.correlation import LeakageOverTime, TemporalCorrelation
from tests.operators.leakage.chains import UNIFORM, A, B, C

ONES = [1.0] * 5


def test_adding_two_recursions_is_no_bound_for_two_releases_of_one_value() -> None:
    correlation = TemporalCorrelation.of(A, A)
    together, alone = parallel(correlation, ONES, ONES), correlation.over(ONES)
    assert together.total[-1] == pytest.approx(9.147309, abs=1e-6)
    assert independent_attributes(alone, alone).total[-1] == pytest.approx(8.516261, abs=1e-6)
    assert together == correlation.over([2.0] * 5)


def test_it_may_be_loose_as_well() -> None:
    correlation = TemporalCorrelation.of(C)
    alone = correlation.over(ONES)
    assert parallel(correlation, ONES, ONES).total[-1] == pytest.approx(3.583871, abs=1e-6)
    assert independent_attributes(alone, alone).total[-1] == pytest.approx(4.174742, abs=1e-6)


def test_a_release_of_releases_costs_at_most_the_smaller_of_both() -> None:
    correlation = TemporalCorrelation.of(B)
    assert serial(correlation, [1.0, 0.2], [0.5, 0.7]) == correlation.over([0.5, 0.2])


def test_a_bit_that_is_released_twice_over_costs_what_enumeration_says() -> None:
    assert serial_bit(1.0, 1.0) == pytest.approx(0.433781, abs=5e-7)
    for local, central in product((0.01, 0.5, 2.0, 9.0), repeat=2):
        kept, told = (1 / (1 + (-Decimal(x)).exp()) for x in (local, central))
        same = kept * told + (1 - kept) * (1 - told)
        exact = (same / (1 - same)).ln()
        bound = serial_bit(local, central)
        assert exact <= Decimal(bound) <= exact + Decimal("1e-13")
        assert bound <= min(local, central)
    assert serial_bit(2e3, 3e3) == pytest.approx(2e3)
    assert serial_bit(0.0, 1.0) == 0.0


def test_nobody_of_disjoint_users_leaks_more_than_the_larger() -> None:
    one, other = TemporalCorrelation.of(A, A).over(ONES), TemporalCorrelation.of(B).over([2.0] * 5)
    both = disjoint_users(one, other)
    for name in ("backward", "forward", "total"):
        series = zip(getattr(one, name), getattr(other, name), strict=True)
        assert getattr(both, name) == tuple(map(max, series))


def test_the_four_cases_of_independent_attributes() -> None:
    """Two ticks of 1 nat each: L_P(1) + 1 where values are correlated, 1 where they are not."""
    correlated, free = (TemporalCorrelation.of(rows).over([1.0, 1.0]) for rows in (C, UNIFORM))
    backward = {
        (one, other): independent_attributes(*pair).backward[-1]
        for (one, other), pair in {
            ("free", "free"): (free, free),
            ("correlated", "free"): (correlated, free),
            ("free", "correlated"): (free, correlated),
            ("correlated", "correlated"): (correlated, correlated),
        }.items()
    }
    assert backward["free", "free"] == 2.0
    assert backward["correlated", "free"] == pytest.approx(2.549948, abs=5e-7)
    assert backward["free", "correlated"] == backward["correlated", "free"]
    assert backward["correlated", "correlated"] == pytest.approx(3.0999, abs=5e-5)


def test_releases_of_different_lengths_are_refused() -> None:
    correlation = TemporalCorrelation.of(B)
    long, short = correlation.over(ONES), correlation.over(ONES[:3])
    attempts: list[Callable[[], LeakageOverTime]] = [
        lambda: parallel(correlation, ONES, ONES[:3]),
        lambda: serial(correlation, ONES, ONES[:3]),
        lambda: disjoint_users(long, short),
        lambda: independent_attributes(long, short),
    ]
    for refused in attempts:
        with pytest.raises(ValueError, match="shorter"):
            refused()

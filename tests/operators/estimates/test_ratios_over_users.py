"""Means over records, with error bars over users, and their degrees of freedom."""

import numpy as np
import pytest

from fugu.operators.estimates.ratios_over_users import RatioSums, student_quantile


def test_rows_may_be_added_in_any_order_and_in_parts() -> None:
    rng = np.random.default_rng(1)
    groups, reports = rng.integers(0, 3, 60), rng.normal(size=(60, 2))
    counts = rng.integers(1, 4, 60).astype(np.float64)
    whole, parts = RatioSums(3, 2), RatioSums(3, 2)
    whole.add(groups, reports, counts)
    order = rng.permutation(60)
    for chosen in np.array_split(order, 7):
        parts.add(groups[chosen], reports[chosen], counts[chosen])
    first, second = whole.ratios(), parts.ratios()
    assert np.allclose(first.estimates, second.estimates)
    assert np.allclose(first.standard_errors, second.standard_errors)
    assert np.allclose(first.degrees, second.degrees)


def test_the_error_is_that_of_a_mean_where_users_have_one_record_each() -> None:
    values = np.random.default_rng(2).normal(size=(500, 1))
    sums = RatioSums(1, 1)
    sums.add(np.zeros(500, dtype=np.int64), values, np.ones(500))
    found = sums.ratios()
    assert found.standard_errors[0, 0] == pytest.approx(values.std(ddof=1) / np.sqrt(500))
    assert 400 < found.degrees[0, 0] < 499.001


def test_one_user_has_no_bar_and_heavy_tails_have_few_degrees() -> None:
    alone = RatioSums(1, 1)
    alone.add(np.zeros(1, dtype=np.int64), np.array([[3.0]]), np.array([4.0]))
    assert np.isnan(alone.ratios().standard_errors[0, 0])
    rare = np.zeros((100, 1))
    rare[0] = 50.0
    tails = RatioSums(1, 1)
    tails.add(np.zeros(100, dtype=np.int64), rare, np.ones(100))
    assert tails.ratios().degrees[0, 0] < 3.0


def test_users_who_are_alike_have_a_bar_as_wide_as_users_who_were_not_seen_may_make_it() -> None:
    """Five of five are seen with a chance of 2.5 % where 48 % of all users are like them."""
    for users, told in ((5, 1.0), (5, 0.1), (40, 0.3)):
        sums = RatioSums(1, 1, shares=True)
        group = np.zeros(users, dtype=np.int64)
        sums.add(group, np.full((users, 1), 3.0 * told), np.full(users, 3.0))
        [[[low, high]]] = sums.ratios().intervals().tolist()
        most = 1.0 - 0.025 ** (1.0 / users)
        assert low < told * (1.0 - most), "the rest is not what these users are"
        assert high > told
        assert high - low < 4.0 * most


def test_the_error_is_at_least_that_of_known_noise() -> None:
    """Reports of users who happened to deviate little from each other."""
    for shares in (False, True):
        sums = RatioSums(2, 1, shares=shares)
        groups, counts = np.array([0, 0, 1, 1]), np.full(4, 2.0)
        reports, noise = np.array([[1.0], [1.1], [-9.0], [9.0]]), np.full((4, 1), 8.0)
        sums.add(groups, reports, counts, noise)
        few, many = sums.ratios().standard_errors[:, 0].tolist()
        assert few == pytest.approx(4.0 / 4.0), "16 in all, of a sum over 4 records"
        assert many > 4.0


def test_quantiles_are_those_of_the_tables_of_t() -> None:
    for degrees, expected in ((2, 4.303), (5, 2.571), (10, 2.228), (60, 2.000)):
        assert student_quantile(0.975, degrees) == pytest.approx(expected, abs=6e-4)
    assert student_quantile(0.995, 3) == pytest.approx(5.841, abs=1e-3)
    with pytest.raises(ValueError, match="above one half"):
        student_quantile(0.4, 3.0)

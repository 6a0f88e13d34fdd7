"""Households and zones have the statistics of the study in the paper."""

from itertools import pairwise

import numpy as np
import pytest

from examples.household.household import LARGEST_LOAD, households
from examples.household.zones import MEANS_MW, TICKS, UNITS_PER_KW, zone_series
from tests.examples.household.statistics import (
    EXACT,
    OCCURRENCES,
    PRINTED,
    SEED,
    SENSITIVITY,
    medians,
    statistics,
)

HOMES = households(55, SEED)


def test_medians_over_households_are_the_printed_ones() -> None:
    assert medians(HOMES) == pytest.approx(PRINTED, rel=0.05)


def test_intervals_are_four_times_as_long_as_what_they_hide_and_within_the_half_year() -> None:
    for home in HOMES:
        for one in home.occurrences:
            assert one.ticks == 4 * one.length
            assert 0 <= one.start <= one.end < TICKS
        assert list(home.occurrences) == sorted(home.occurrences)
    windows = [home.window for home in HOMES]
    assert 1056 <= min(windows) < max(windows) <= 1664
    assert LARGEST_LOAD == 27.57 * UNITS_PER_KW


def test_policies_ask_of_a_tick_what_occurrences_do() -> None:
    home = min(HOMES, key=lambda home: len(home.occurrences))
    timeline, expected = home.timeline(), statistics(home)
    asked = np.array([timeline.relevance(tick, b"").sensitivity for tick in range(TICKS)])
    assert asked.mean() / LARGEST_LOAD == pytest.approx(expected[SENSITIVITY])
    assert (asked == 0).mean() == pytest.approx(expected[EXACT])
    assert timeline.largest_sensitivity == LARGEST_LOAD
    assert len(home.occurrences) == expected[OCCURRENCES]


def test_the_first_households_are_the_same_however_many_follow() -> None:
    assert households(3, SEED) == HOMES[:3]
    assert households(1, SEED + 1) != HOMES[:1]


def test_zones_have_days_weeks_and_a_rest_that_hours_share() -> None:
    """Amplitudes of a sinusoid, from its Fourier coefficient, and what is left without them."""
    series = zone_series(SEED) / (np.array(MEANS_MW) * 1000.0 * UNITS_PER_KW)
    assert series.mean(axis=0) == pytest.approx(1.0, abs=0.015)
    parts = np.fft.rfft(series, axis=0) / TICKS
    amplitudes = 2.0 * np.abs(parts)
    assert amplitudes[TICKS // 24] == pytest.approx(0.22, abs=0.02)
    assert amplitudes[TICKS // 168] == pytest.approx(0.05, abs=0.02)
    for line in (TICKS // 24, TICKS // 168, *range(20)):
        parts[line] = 0.0
    rest = np.fft.irfft(parts, TICKS, axis=0) * TICKS
    assert rest.std(axis=0).mean() == pytest.approx(0.06, rel=0.1)
    neighbours = np.mean([(one * other).mean() for one, other in pairwise(rest)])
    assert neighbours / (rest * rest).mean() == pytest.approx(0.8, abs=0.05)

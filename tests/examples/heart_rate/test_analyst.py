"""Do with displaced values what an analyst does with them."""

import numpy as np

from examples.heart_rate.analyst import by_tick, moving_average, ticks_in_zones

NONE = np.nan


def test_values_go_back_by_the_mean_delay_and_fall_off_at_the_ends() -> None:
    stream = [(60_000 * (minute + 1), float(minute)) for minute in (0, 3, 4, 9)]
    series = by_tick(stream, begin=0, ticks=6, width=60_000, lag=3)
    assert np.array_equal(series, [3, 4, NONE, NONE, NONE, NONE], equal_nan=True)


def test_averages_leave_out_ticks_without_a_value() -> None:
    series = np.array([1.0, NONE, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0])
    averages = moving_average(series, width=6)
    assert np.isnan(averages).tolist() == [True, True, True, False, False, False, False, True]
    assert averages[3] == (1 + 3 + 5 + 7 + 9) / 5


def test_ticks_without_a_value_are_in_no_zone() -> None:
    series = np.array([[60.0, NONE, 90.0, 119.9, 150.0, 149.0]])
    assert ticks_in_zones(series, 3).tolist() == [[[1, 1, 0, 0], [0, 1, 1, 1]]]

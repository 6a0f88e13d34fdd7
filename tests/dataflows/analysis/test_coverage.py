"""95 % bars hold the truth about as often as they say: a small part of the acceptance table."""

import pytest

from tests.dataflows.analysis.coverage import of_figures, of_means, of_shares

pytestmark = pytest.mark.slow
LEAST, MOST = 0.90, 0.99
"""Bounds for so few runs; `make acceptance` asks for .93 to .97 of 200."""


@pytest.mark.parametrize("kind", ["grr", "crr"])
def test_bars_of_shares_hold_the_shares_among_all_such_users(kind: str) -> None:
    found = of_shares(kind, runs=40, users=60)
    assert LEAST <= found.held.mean() <= MOST
    assert not found.alarms > 0.1


def test_bars_of_means_hold_the_mean_of_all_such_users() -> None:
    assert LEAST <= of_means("laplace", runs=60).held.mean() <= 1.0


def test_bars_of_running_totals_and_of_sums_of_windows_hold() -> None:
    totals, windows = of_figures("running_total", runs=12)
    assert LEAST - 0.05 <= totals.held.mean() <= 1.0, "errors of a run go together"
    assert LEAST <= windows.held.mean() <= MOST


def test_bars_of_figures_hold_true_ones_also_where_they_are_repeated() -> None:
    for found in of_figures("sample", runs=20):
        assert LEAST <= found.held.mean() <= MOST

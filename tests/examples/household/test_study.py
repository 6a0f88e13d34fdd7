"""Two households and three zones over 400 ticks: what mechanisms err is what their noise says."""

from functools import cache
from math import sqrt

import numpy as np
import pytest

from examples.household.household import LARGEST_LOAD, Household, households
from examples.household.mechanisms import EPSILON
from examples.household.study import ABSOLUTE, RELATIVE, errors_of
from examples.household.zones import MEANS_MW, UNITS_PER_KW, zone_series
from fugu.operators.mechanism import Floats
from fugu.operators.swellfish.policy import affected_ticks
from tests.examples.household.statistics import SEED

TICKS, ZONES = 400, [0, 4, 19]
HOMES = households(11, SEED)
SHOWN = (5, 10)
"""For each of them weeks of a long interval begin, and half of the ticks are exact."""


@cache
def errors(name: str, number: int) -> Floats:
    """`(zones, 2)`: absolute ones in kW, and relative ones."""
    series = zone_series(SEED)[:TICKS, ZONES]
    return errors_of(name, HOMES[number], series, seed=number)


def scales(home: Household) -> dict[str, Floats]:
    """Return the scales of noise, tick by tick, in kW, from occurrences alone; 0 at exact ticks."""
    change, affected = np.zeros(TICKS), np.zeros(TICKS)
    for one in home.occurrences:
        ticks = slice(one.start, one.end + 1)
        change[ticks] += one.thresholds[0]
        interval = affected_ticks(one.start, one.end, home.occurrences)
        affected[ticks] = np.maximum(affected[ticks], interval)
    change = np.minimum(change, LARGEST_LOAD) / UNITS_PER_KW
    whole = LARGEST_LOAD / UNITS_PER_KW
    return {
        "Uniform": np.full(TICKS, whole * home.window / EPSILON),
        "TSUniform": change * home.window / EPSILON,
        "TINARUniform": whole * affected / EPSILON,
        "UnicornPS": change * affected / EPSILON,
    }


@pytest.mark.parametrize("number", SHOWN)
@pytest.mark.parametrize("name", ["Uniform", "TSUniform", "TINARUniform"])
def test_errors_of_even_shares_are_the_mean_scale_of_noise(name: str, number: int) -> None:
    """|noise| has its scale for mean and for standard deviation; 4 standard errors of the mean."""
    scale = scales(HOMES[number])[name]
    error = errors(name, number)[:, ABSOLUTE].mean()
    deviation = sqrt((scale * scale).mean() / TICKS / len(ZONES))
    assert abs(error - scale.mean()) < 4.0 * deviation


@pytest.mark.parametrize("number", SHOWN)
def test_unicorn_ps_shares_out_at_least_what_even_shares_would(number: int) -> None:
    scale = scales(HOMES[number])["UnicornPS"]
    error = errors("UnicornPS", number)[:, ABSOLUTE].mean()
    deviation = sqrt((scale * scale).mean() / TICKS / len(ZONES))
    assert 0.8 * scale.mean() - 4.0 * deviation < error < scale.mean() + 4.0 * deviation


@pytest.mark.parametrize("number", SHOWN)
def test_policies_gain_one_to_three_orders_of_magnitude(number: int) -> None:
    absolute = {
        name: float(np.median(errors(name, number)[:, ABSOLUTE]))
        for name in ("Uniform", "BD", "BA", "TSBD", "TSBA", "UnicornPS", "Unicorn")
    }
    for rival in ("Uniform", "BD", "BA"):
        assert 10 < absolute[rival] / absolute["UnicornPS"] < 10_000
        assert 10 < absolute[rival] / absolute["Unicorn"] < 10_000
    assert absolute["BD"] / absolute["TSBD"] > 4
    assert absolute["BA"] / absolute["TSBA"] > 4
    assert max(absolute["UnicornPS"], absolute["Unicorn"]) < absolute["TSBA"]


@pytest.mark.parametrize("number", SHOWN)
def test_one_sample_is_best_where_figures_are_small_and_worst_where_they_are_large(
    number: int,
) -> None:
    sampled, always = (errors(name, number)[:, RELATIVE] for name in ("UnicornIS", "UnicornPS"))
    assert sampled[0] < always[0]
    assert 20 * always[-1] < sampled[-1]
    assert sampled.max() < 2.5 * sampled.min()
    assert [MEANS_MW[zone] for zone in ZONES] == [0.5, 14.3, 213.6]

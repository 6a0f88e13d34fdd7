"""Compare fast runs of many draws with the mechanisms themselves, tick by tick."""

import numpy as np
import pytest

from examples.household.household import Household, households
from examples.household.mechanisms import MECHANISMS
from examples.household.repeated import draws_of_a_tick, numbers, release_of
from examples.household.study import ABSOLUTE, RELATIVE, errors_of, repeated_errors
from examples.household.zones import zone_series
from fugu.operators.mechanism import Inputs, Integers, Mechanism
from fugu.operators.noise.unit_laplace import sample
from fugu.operators.single_stream import with_plan
from tests.examples.household.chosen_noise import ChosenNumbers
from tests.examples.household.statistics import SEED
from tests.thinned import first_in_test

SERIES = zone_series(SEED)
HOMES = households(11, SEED)


def by_steps(mechanism: Mechanism, values: Integers, noise: Integers) -> Integers:
    """Return what its own steps release of one series."""
    state, released = mechanism.start(1), np.empty_like(values)
    for tick, value in enumerate(values):
        step = Inputs(np.array([[value]])), ChosenNumbers(noise[tick])
        state, releases = mechanism.step(with_plan(mechanism, state), *step)
        released[tick] = releases.values[0, 0]
    return released


def busy(home: Household) -> Household:
    """Return those of its occurrences that are over in 900 ticks: a smaller window moves on."""
    return Household(tuple(one for one in home.occurrences if one.end < 900 and one.ticks < 100))


@pytest.mark.parametrize("zone", first_in_test([0, 19], 1))
@pytest.mark.parametrize("name", first_in_test(MECHANISMS, 8))
def test_the_same_noise_gives_the_same_releases(name: str, zone: int) -> None:
    home = busy(HOMES[1])
    assert len(home.occurrences) > 20
    values = np.ascontiguousarray(SERIES[:900, zone])
    mechanism = MECHANISMS[name](home)
    rng = np.random.default_rng((zone, len(name)))
    noise = numbers(rng, len(values), draws_of_a_tick(mechanism))
    assert (
        release_of(mechanism, len(values))(values, noise).tolist()
        == by_steps(mechanism, values, noise).tolist()
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", first_in_test(["BA", "RescueDP", "TSBD", "Unicorn", "Unicorn*"], 1)
)
def test_the_same_noise_gives_the_same_releases_in_weeks_of_a_long_interval(name: str) -> None:
    values = np.ascontiguousarray(SERIES[:, 4])
    noise = numbers(np.random.default_rng(1), len(values), draws=2)
    mechanism = MECHANISMS[name](HOMES[10])
    assert (
        release_of(mechanism, len(values))(values, noise).tolist()
        == by_steps(mechanism, values, noise).tolist()
    )


def test_groups_of_pegasus_grow_full_where_figures_rest() -> None:
    values = np.full(400, 10**6)
    mechanism = MECHANISMS["PeGaSus"](HOMES[1])
    noise = np.zeros((400, 3, 2), dtype=np.int64)
    noise[:, 1] = numbers(np.random.default_rng(2), 400, draws=1)[:, 0]
    assert (
        release_of(mechanism, 400)(values, noise).tolist()
        == by_steps(mechanism, values, noise).tolist()
    )


def test_numbers_make_noise_of_the_law() -> None:
    """4 standard errors of the mean of |noise|, whose scale is 2^40 / price."""
    price, drawn = 2**36, numbers(np.random.default_rng(1), 20_000, draws=2).reshape(-1, 2)
    noise = drawn[:, 0] // price - drawn[:, 1] // price
    assert noise.mean() == pytest.approx(0.0, abs=4 * 16 * 2**0.5 / 200)
    assert np.abs(noise).mean() == pytest.approx(16.0, abs=4 * 16 / 200)
    words = np.random.default_rng(2).integers(0, 2**64, (20_000, 92), dtype=np.uint64)
    own = sample(words, np.array(price))
    assert np.quantile(np.abs(noise), (0.5, 0.9, 0.99)) == pytest.approx(
        np.quantile(np.abs(own), (0.5, 0.9, 0.99)), rel=0.1
    )


@pytest.mark.parametrize("name", ["Uniform", "UnicornPS"])
def test_errors_of_many_runs_are_those_of_one_run_on_average(name: str) -> None:
    series = SERIES[:400, [0, 19]]
    many = repeated_errors(name, HOMES[5], series, runs=20, seed=1)
    one = errors_of(name, HOMES[5], series, seed=1)
    spread = many.std(axis=0, ddof=1) * 2**0.5
    for kind in (ABSOLUTE, RELATIVE):
        assert (abs(many.mean(axis=0) - one)[:, kind] < 5 * spread[:, kind]).all()

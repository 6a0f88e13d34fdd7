"""Measure errors of mechanisms on the series of zones, given what a household wants hidden.

Every mechanism releases every zone again and again, once for each draw of noise and for each
household, whose policies are everybody's in that run. Errors are those of figures in kW, absolute
and relative to the true figure, on average over ticks.

Source: Swellfish specification, sections 6 and 7; Swellfish paper, section 5.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from examples.household.household import Household
from examples.household.mechanisms import MECHANISMS, released
from examples.household.repeated import draws_of_a_tick, numbers, release_of
from examples.household.zones import UNITS_PER_KW
from fugu.operators.mechanism import Floats, Integers

ABSOLUTE, RELATIVE = 0, 1
PARTS = 10
"""Runs are taken in so many parts, whose spread says how far a result may be off."""


@dataclass(frozen=True, eq=False)
class Study:
    """Hold `errors[name]`: `(runs, households, zones, 2)`, absolute and relative ones; and the
    `means` of the zones, in MW.

    A typical run is the median over runs. The mean over runs is more where a few runs err a lot.
    """

    means: Sequence[float]
    errors: Mapping[str, Floats]

    def typical(self, name: str, mean: float) -> float:
        """Return the median of relative errors over runs and households, in one zone."""
        zone = list(self.means).index(mean)
        return float(np.median(self.errors[name][:, :, zone, RELATIVE]))

    def typical_absolute(self, name: str) -> float:
        """Return the median over runs, households and zones, in kW."""
        return float(np.median(self.errors[name][..., ABSOLUTE]))

    def times_less(self, name: str, over: str) -> Floats:
        """Return how many times less it errs than the other one, `(runs, households, zones)`."""
        return self.errors[over][..., ABSOLUTE] / self.errors[name][..., ABSOLUTE]

    def expected(self, name: str) -> Floats:
        """Return means of relative errors over runs, `(households, zones)`."""
        return np.asarray(self.errors[name][..., RELATIVE].mean(axis=0))

    def standard_error(self, of: Callable[["Study"], float]) -> float:
        """Return that of a number which is taken of a study, over runs."""
        numbers = [
            of(Study(self.means, {name: runs[part::PARTS] for name, runs in self.errors.items()}))
            for part in range(PARTS)
        ]
        return float(np.std(numbers, ddof=1) / np.sqrt(PARTS))


def errors_of(name: str, household: Household, series: Integers, seed: int) -> Floats:
    """Return those of one run of the mechanism itself: `(zones, 2)`; `series (ticks, zones)`."""
    mechanism = MECHANISMS[name](household)
    return _errors(series, np.stack(list(released(mechanism, series, seed))))


def repeated_errors(
    name: str, household: Household, series: Integers, runs: int, seed: int
) -> Floats:
    """Return those of many runs, `(runs, zones, 2)`."""
    ticks, zones = series.shape
    mechanism = MECHANISMS[name](household)
    release, draws = release_of(mechanism, ticks), draws_of_a_tick(mechanism)
    rng = np.random.default_rng((seed, list(MECHANISMS).index(name)))
    columns = [np.ascontiguousarray(series[:, zone]) for zone in range(zones)]
    return np.stack(
        [
            [_errors(values, release(values, numbers(rng, ticks, draws))) for values in columns]
            for _ in range(runs)
        ]
    )


def study(
    households: Sequence[Household],
    series: Integers,
    means: Sequence[float],
    names: Sequence[str],
    runs: int,
) -> Study:
    """Return all errors; all processors work on them."""
    with ProcessPoolExecutor() as pool:
        pending = {
            name: [
                pool.submit(repeated_errors, name, household, series, runs, seed)
                for seed, household in enumerate(households)
            ]
            for name in names
        }
        errors = {
            name: np.stack([one.result() for one in runs], axis=1) for name, runs in pending.items()
        }
    return Study(means, errors)


def _errors(values: Integers, released: Integers) -> Floats:
    """Return mean errors over ticks, absolute ones in kW and relative ones, in the last axis."""
    apart = np.abs(released - values)
    return np.stack([apart.mean(axis=0) / UNITS_PER_KW, (apart / values).mean(axis=0)], axis=-1)

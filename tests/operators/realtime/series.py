"""Series to be released, as in section 6 of the specification, and what a filter makes of them.

A run has noisy values from a generator, not from keyed draws: the filter is a function of noisy
values and does not know the difference, and simulations take seconds instead of hours.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.realtime import filter as filtering
from fugu.operators.realtime.account import paper_total

TICKS, DELTA = 1000, 1e-7
EPSILONS = (5, 20, 60, 200)
TWO_SIDED = 1.959963984540054
"""Deviations of a normal number that hold it in 19 of 20 cases."""


def noise_variance(epsilon: float, ticks: int = TICKS) -> float:
    """Return the noise of the tables of the specification, by the bound of the paper."""
    return ticks / paper_total(epsilon, DELTA)


def correlated(
    rng: np.random.Generator, runs: int, correlation: float, variance: float, ticks: int = TICKS
) -> Floats:
    """A Gaussian AR(1) series around 100, stationary, `(ticks, runs)`."""
    fresh: Floats = rng.normal(0.0, np.sqrt(variance * (1.0 - correlation**2)), (ticks, runs))
    fresh[0] = rng.normal(0.0, np.sqrt(variance), runs)
    for tick in range(1, ticks):
        fresh[tick] += correlation * fresh[tick - 1]

    return np.asarray(100.0 + fresh)


@cache
def listed(runs: int, seed: int) -> dict[str, Floats]:
    """The series of section 6 by name, `(ticks, runs)` each."""
    rng, ticks = np.random.default_rng(seed), np.arange(TICKS)[:, None]
    return {
        "AR(1)": correlated(rng, runs, 0.8, 27.78),
        "constant": np.full((TICKS, runs), 100.0),
        "white noise": rng.normal(100.0, 5.0, (TICKS, runs)),
        "random walk": 100.0 + np.cumsum(rng.normal(0.0, 1.0, (TICKS, runs)), axis=0),
        "AR(1) + trend": correlated(rng, runs, 0.8, 27.78) + 0.25 * ticks,
        "step": correlated(rng, runs, 0.1, 10.1) + np.where(ticks < TICKS // 2, 0.0, 1000.0),
        "spikes": 100.0 + 2000.0 * (rng.random((TICKS, runs)) < 0.02),
    }


@cache
def traffic(runs: int, seed: int) -> Floats:
    """Vehicles by hour, 14 hours a day: two humps, fewer at weekends, 5 percent AR(1) on top."""
    rng, tick = np.random.default_rng(seed), np.arange(TICKS)[:, None]
    hour, day = tick % 14, tick // 14
    shape = 0.25 + 0.75 * np.exp(-((hour - 2.0) ** 2) / 4.0)
    shape = np.maximum(shape, 0.25 + 0.65 * np.exp(-((hour - 11.0) ** 2) / 5.0))
    profile = 20_000.0 * shape * np.where(day % 7 >= 5, 0.75, 1.0)
    return np.asarray(profile * (1.0 + 0.05 * (correlated(rng, runs, 0.8, 1.0) - 100.0)))


@dataclass(frozen=True)
class Run:
    """Squared errors of estimates, the share of truths within 1.96 standard errors, the mean
    standard error, and the share within 1.96 sqrt(F), by series."""

    squared: Floats
    covered: Floats
    error: Floats
    covered_by_model: Floats


def filtered(truth: Floats, variance: Floats, *, seed: int, weight: Floats | None = None) -> Run:
    """Filter `truth (ticks, runs, series)` with noise of `variance (series,)`, run by run."""
    sums = np.zeros((4, *truth.shape[1:]))
    for now, told, model in filtering_of(truth, variance, seed=seed, weight=weight):
        apart = np.abs(told.estimate - now)
        found = (
            apart * apart,
            apart <= TWO_SIDED * told.error,
            told.error,
            apart < TWO_SIDED * np.sqrt(model),
        )
        sums += np.stack(found)
    squared, covered, error, covered_by_model = sums / len(truth)
    return Run(squared, covered, error, covered_by_model)


def filtering_of(
    truth: Floats, variance: Floats, *, seed: int, weight: Floats | None = None
) -> Iterator[tuple[Floats, filtering.Told, Floats]]:
    """Yield true values, what is told of them, and the variance by the model, tick by tick.

    The variance of the noise and the weight may differ by tick: `(ticks, 1, 1)`.
    """
    rng = np.random.default_rng(seed)
    state = filtering.start(*truth.shape[1:])
    noises = np.broadcast_to(variance, truth.shape)
    weights = None if weight is None else np.broadcast_to(weight, truth.shape)
    for tick, (now, noise) in enumerate(zip(truth, noises, strict=True)):
        noisy = now + rng.normal(0.0, 1.0, now.shape) * np.sqrt(noise)
        given = None if weights is None else weights[tick]
        state, told = filtering.advance(state, noisy, noise, given)
        yield now, told, state["variance"]


def cells(names: list[str]) -> list[tuple[str, int]]:
    """Every series with every epsilon."""
    return [(name, epsilon) for name in names for epsilon in EPSILONS]


def filtered_cells(
    series: dict[str, Floats], *, seed: int, weight: Floats | None = None
) -> dict[tuple[str, int], Run]:
    """A run for every series and every epsilon, all at once."""
    names = list(series)
    truth = np.repeat(np.stack([series[name] for name in names], axis=2), len(EPSILONS), axis=2)
    variance = np.array([noise_variance(epsilon) for _, epsilon in cells(names)])
    run = filtered(truth, variance, seed=seed, weight=weight)
    return {
        cell: Run(
            run.squared[:, number],
            run.covered[:, number],
            run.error[:, number],
            run.covered_by_model[:, number],
        )
        for number, cell in enumerate(cells(names))
    }

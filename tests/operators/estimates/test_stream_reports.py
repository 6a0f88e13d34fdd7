"""Counts from reports of mixed budgets: unbiased, with the variance that the bars say."""

import numpy as np
import pytest

from fugu.operators.estimates.shares import share_reader
from fugu.operators.estimates.stream_reports import CountEstimate, estimated_counts
from fugu.operators.mechanism import Floats, Inputs, Integers, Kind
from fugu.operators.wevent.pba import Schedule
from fugu.operators.wevent_local.strategies import (
    LocalBudgetAbsorption,
    LocalBudgetDistribution,
    LocalPrivacyBudgetAllocation,
    LocalSample,
    LocalUniform,
)
from fugu.operators.wevent_local.window_reports import WindowReports
from tests.operators.noise.simulated import SimulatedDraws

SYMBOLS, USERS = 4, 60_000
KINDS: list[WindowReports] = [
    LocalPrivacyBudgetAllocation(SYMBOLS, 3, 12.0, flags=Schedule((True, False))),
    LocalPrivacyBudgetAllocation(SYMBOLS, 3, 12.0, dissimilarity="laplace"),
    LocalBudgetDistribution(SYMBOLS, 3, 12.0),
    LocalBudgetAbsorption(SYMBOLS, 3, 12.0),
    LocalUniform(SYMBOLS, 3, 12.0),
    LocalSample(SYMBOLS, 3, 4.0),
]


def walk(rng: np.random.Generator, ticks: int) -> list[Integers]:
    """Most stay, and some go on to the next symbol; nobody is at the last one at first."""
    at = [rng.choice(SYMBOLS, size=USERS, p=[0.6, 0.3, 0.1, 0.0])]
    for _ in range(ticks - 1):
        at.append((at[-1] + (rng.random(USERS) < 0.15)) % SYMBOLS)
    return at


def followed(
    mechanism: WindowReports, truth: list[Integers], rng: np.random.Generator
) -> list[tuple[Floats, bool]]:
    """Return what readers are told of each tick, and whether it is about that tick for all."""
    reader = share_reader(mechanism)
    assert reader is not None
    state, read, found = mechanism.start(USERS), reader.start(USERS), []
    for at in truth:
        now = bool((mechanism.report_chances(state) > 0.0).all())
        state, releases = mechanism.step(state, Inputs(at), SimulatedDraws(rng))
        read, told = reader.read(read, releases)
        found.append((told, now))
    return found


@pytest.mark.parametrize("mechanism", KINDS, ids=lambda one: f"{one.kind}-{one.dissimilarity}")
def test_counts_are_unbiased_and_vary_as_the_bars_say(mechanism: WindowReports) -> None:
    """Within four standard errors in each of six ticks, whoever repeats for which reason."""
    rng = np.random.default_rng(3)
    truth = walk(rng, 6)
    for at, (told, now) in zip(truth, followed(mechanism, truth, rng), strict=True):
        estimate = estimated_counts(told)
        assert estimate.without_report == 0
        if now:
            gap = estimate.counts - np.bincount(at, minlength=SYMBOLS)
            assert (np.abs(gap) < 4 * estimate.standard_errors).all()
            spread = np.concatenate([told[at == symbol, symbol] - 1 for symbol in range(SYMBOLS)])
            others = np.concatenate([told[at != symbol, symbol] for symbol in range(SYMBOLS)])
            exact = float((spread**2).sum() + (others**2).sum())
            assert (estimate.standard_errors**2).sum() == pytest.approx(exact, rel=0.1)


def test_the_report_in_force_is_biased_where_the_truth_decides_who_repeats() -> None:
    """The estimator of the specification, section 3: reports that hold the truth are kept."""
    rng, pba = np.random.default_rng(4), KINDS[0]
    state, at = pba.start(USERS), np.zeros(USERS, dtype=np.int64)
    for _ in range(6):
        state, releases = pba.step(state, Inputs(at), SimulatedDraws(rng))
    f = 1.0 / (np.exp(releases.annotations["epsilon"] / 2.0) + 1.0)
    assert ((releases.values[:, 0] - f) / (1.0 - 2.0 * f)).mean() > 1.15
    assert (np.asarray(releases.kinds) == Kind.REPEATED).any()


@pytest.mark.parametrize(
    ("epsilon", "variance"),
    [(0.0125, 25599.92), (0.025, 6399.92), (0.1, 399.917), (1.0, 3.917698)],
)
def test_the_variance_of_a_report_is_the_printed_one(epsilon: float, variance: float) -> None:
    """Exactly: over both values of a bit, for whom the symbol is true, and for whom it is not."""
    f = 1.0 / (np.exp(epsilon / 2.0) + 1.0)
    told = (np.array([0.0, 1.0]) - f) / (1.0 - 2.0 * f)
    for chances, mean in (([f, 1.0 - f], 1.0), ([1.0 - f, f], 0.0)):
        assert told @ chances == pytest.approx(mean, abs=1e-9)
        assert (told**2 - told) @ chances == pytest.approx(variance, rel=1e-6)


def test_bars_hold_the_count_in_95_of_100_runs_of_mixed_budgets() -> None:
    """Users have epsilon 0.5, 1 and 4, and some have no report."""
    rng, users, runs = np.random.default_rng(5), 500, 800
    truth = rng.integers(SYMBOLS - 1, size=users)
    f = 1.0 / (np.exp(rng.choice([0.5, 1.0, 4.0], size=users) / 2.0) + 1.0)[:, None]
    silent = rng.random(users) < 0.1
    exact = truth[:, None] == np.arange(SYMBOLS)

    def run() -> CountEstimate:
        bits = exact ^ (rng.random(exact.shape) < f)
        return estimated_counts(np.where(silent[:, None], np.nan, (bits - f) / (1.0 - 2.0 * f)))

    found = [run() for _ in range(runs)]
    expected = exact[~silent].sum(axis=0) + silent.sum() / SYMBOLS
    assert found[0].without_report == silent.sum() > 0
    ends = np.array([one.intervals(0.95) for one in found])
    held = ((ends[..., 0] < expected) & (expected < ends[..., 1])).mean()
    assert held == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / (runs * SYMBOLS)) + 0.005)
    counts = np.array([one.counts for one in found])
    errors = found[0].standard_errors / np.sqrt(runs)
    assert (np.abs(counts.mean(axis=0) - expected) < 4 * errors).all()


def test_nobody_is_no_count_and_what_is_no_confidence_is_refused() -> None:
    nobody = estimated_counts(np.full((3, 4), np.nan))
    assert nobody.counts.tolist() == [0.75] * 4
    assert nobody.intervals().tolist() == [[0.75, 0.75]] * 4
    with pytest.raises(ValueError, match=r"^confidence: must be between 0 and 1"):
        nobody.intervals(1.0)
    with pytest.raises(ValueError, match=r"^told: one row of estimates"):
        estimated_counts(np.zeros(3))

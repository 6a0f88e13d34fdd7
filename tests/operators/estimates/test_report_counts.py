"""Counts from reports of mixed budgets: unbiased, with the variance that the bars say."""

import numpy as np
import pytest

from fugu.operators.estimates.report_counts import estimated_counts
from fugu.operators.estimates.share_estimators import share_reader
from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.wevent.flags import Schedule
from fugu.operators.wevent_local.pba_ldp import LocalPrivacyBudgetAllocation
from tests.operators.noise.simulated import SimulatedDraws

SYMBOLS, USERS, RUNS = 4, 400, 600


def flipped(truth: np.ndarray, epsilons: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One report of each user, by its definition."""
    f = 1.0 / (np.exp(epsilons / 2.0) + 1.0)
    return (truth[:, None] == np.arange(SYMBOLS)) ^ (rng.random((len(truth), SYMBOLS)) < f[:, None])


@pytest.mark.parametrize(
    ("epsilon", "variance"),
    [(0.0125, 25599.92), (0.025, 6399.92), (0.1, 399.917), (1.0, 3.917698)],
)
def test_the_variance_of_one_user_is_the_printed_one(epsilon: float, variance: float) -> None:
    estimate = estimated_counts(np.array([[True, False]]), np.array([epsilon]))
    assert estimate.standard_errors**2 == pytest.approx([variance] * 2, rel=1e-6)


def test_counts_of_mixed_budgets_are_unbiased_and_vary_as_the_bars_say() -> None:
    """Within four deviations of a mean, and of a variance, of so many runs."""
    rng = np.random.default_rng(1)
    truth = rng.integers(SYMBOLS - 1, size=USERS)
    epsilons = rng.choice([0.0, 0.5, 1.0, 4.0], size=USERS)
    found = np.array(
        [estimated_counts(flipped(truth, epsilons, rng), epsilons).counts for _ in range(RUNS)]
    )
    estimate = estimated_counts(flipped(truth, epsilons, rng), epsilons)
    assert estimate.without_report == (epsilons == 0.0).sum() > 0
    reported = np.bincount(truth[epsilons > 0.0], minlength=SYMBOLS)
    expected = reported + estimate.without_report / SYMBOLS
    deviation = estimate.standard_errors
    assert (np.abs(found.mean(axis=0) - expected) < 4 * deviation / np.sqrt(RUNS)).all()
    assert (np.abs(found.var(axis=0) / deviation**2 - 1.0) < 4 * np.sqrt(2 / RUNS)).all()
    lower, upper = expected - 1.96 * deviation, expected + 1.96 * deviation
    held = ((lower < found) & (found < upper)).mean()
    assert held == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / found.size))


def test_reports_of_pba_ldp_that_absorb_are_read_with_the_budget_of_each() -> None:
    """Where nobody moves, reports in force estimate the present, repeated or not."""
    pba = LocalPrivacyBudgetAllocation(SYMBOLS, 3, 12.0, flags=Schedule((True, False)))
    truth = np.repeat([0, 1, 2, 2], 2_000)
    reader = share_reader(pba)
    assert reader is not None
    state, read = pba.start(len(truth)), reader.start(len(truth))
    draws = SimulatedDraws(np.random.default_rng(2))
    budgets: set[float] = set()
    for _ in range(6):
        state, releases = pba.step(state, Inputs(truth), draws)
        read, told = reader.read(read, releases)
        epsilons = releases.annotations["epsilon"]
        estimate = estimated_counts(releases.values, epsilons)
        assert told.sum(axis=0) == pytest.approx(estimate.counts, rel=1e-9)
        budgets |= set(epsilons.tolist())
    assert (releases.kinds == Kind.REPEATED).any()
    assert len(budgets) == 2
    assert estimate.without_report == 0


def test_what_is_no_report_is_refused_and_nobody_is_no_count() -> None:
    for epsilon in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"^epsilons: each must be a number of nats"):
            estimated_counts(np.array([[True]]), np.array([epsilon]))
    with pytest.raises(ValueError, match=r"^reports: one row of bits"):
        estimated_counts(np.array([[True]]), np.array([1.0, 1.0]))
    nobody = estimated_counts(np.zeros((3, 4), dtype=bool), np.zeros(3))
    assert nobody.counts.tolist() == [0.75] * 4
    assert nobody.intervals().tolist() == [[0.75, 0.75]] * 4

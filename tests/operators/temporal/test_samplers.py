"""Keyed draws give the laws that are claimed; 3 x 10^5 ticks or epochs, seeds fixed.

Streams are independent of each other, ticks of one stream are not. So standard errors come from the
spread between streams, and a sound sampler fails one of the bounds (5 of them) with probability
below 10^-4.
"""

import numpy as np
import pytest

from fugu.operators.mechanism import Array, Floats
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation
from tests.operators.temporal.runs import Run

ROWS, TICKS = 3000, 100


def agrees(observed: Array, expected: Floats | float) -> bool:
    """Return whether means over streams, `(streams, ...)`, are within 5 standard errors."""
    rows = len(observed)
    error = observed.std(axis=0, ddof=1) / np.sqrt(rows)
    return bool((np.abs(observed.mean(axis=0) - expected) <= 5.0 * error + 1e-12).all())


def shares(run: Run) -> Floats:
    """Return the share of each delay in all releases of the steady state, `(streams, k)`."""
    delays = run.delays_since(run.mechanism.k)
    return np.stack([(delays == j).mean(axis=0) for j in range(run.mechanism.k)], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "c0"), [(3, 2), (10, 7), (20, 5)])
def test_the_threshold_mechanism_delays_as_its_law_says_and_loses_nothing(k: int, c0: int) -> None:
    mechanism = ThresholdPerturbation(k=k, c0=c0)
    run = Run(mechanism, ROWS).advance(TICKS + k - 1)
    assert agrees(shares(run), mechanism.delay_law)
    delays = run.delays_since(k)
    assert ((delays >= 0) & (delays < k)).all()
    assert np.abs(delays.mean(axis=0) - (k - c0)).max() <= (k - c0) * k / TICKS
    for released in run.since(k).T.tolist():
        assert len(set(released)) == TICKS
        assert set(range(k, TICKS + 1)) <= set(released)


@pytest.mark.parametrize(("k", "epsilon"), [(10, 2.0), (5, 1.0)])
def test_the_extended_mechanism_delays_and_drops_as_its_law_says(k: int, epsilon: float) -> None:
    mechanism = ExtendedThresholdPerturbation.for_budget(k, epsilon)
    run = Run(mechanism, ROWS).advance(TICKS + k - 1)
    empty = (run.delays_since(k) < 0).mean(axis=0)
    missing = mechanism.expected.missing
    assert agrees(empty, missing)
    assert empty.mean() == pytest.approx(missing, rel=0.02)
    assert agrees(shares(run), mechanism.delay_law * (1.0 - missing))


@pytest.mark.parametrize("kind", [BackwardPerturbation, ForwardPerturbation])
def test_the_baselines_delay_and_lose_as_their_laws_say(
    kind: type[BackwardPerturbation] | type[ForwardPerturbation],
) -> None:
    k, epsilon = 10, 5.0
    mechanism = kind(k=k, epsilon=epsilon)
    run = Run(mechanism, ROWS).advance(TICKS + 2 * k)
    expected = mechanism.expected
    assert agrees(shares(run), mechanism.delay_law * (1.0 - expected.empty))
    steady = run.since(k)
    assert agrees((steady == 0).mean(axis=0), expected.empty)
    values = np.arange(k, TICKS + k)
    copies = np.stack([(steady == value).sum(axis=0) for value in values], axis=1)
    missing, repeated = (copies == 0).mean(axis=1), np.maximum(copies - 1, 0).mean(axis=1)
    assert agrees(missing, expected.missing)
    assert agrees(repeated, expected.repeated)
    assert missing.mean() == pytest.approx(expected.missing, rel=0.02)
    first = [
        np.where(copies[:, i] > 0, (steady == value).argmax(axis=0) + k - value, 0)
        for i, value in enumerate(values.tolist())
    ]
    assert agrees(np.array(first).mean(axis=0), expected.delay)
    assert np.mean(first) == pytest.approx(expected.delay, rel=0.02)


@pytest.mark.parametrize(
    "mechanism",
    [
        ThresholdPerturbation(k=5, c0=3),
        ThresholdPerturbation(k=6, c0=2),
        ExtendedThresholdPerturbation.for_budget(5, 1.0),
    ],
)
def test_the_law_holds_from_the_first_tick_that_is_published(
    mechanism: ThresholdPerturbation | ExtendedThresholdPerturbation,
) -> None:
    """Compare R_k over 60,000 epochs with the law."""
    run = Run(mechanism, 60_000).advance(mechanism.k)
    [delays] = run.delays_since(mechanism.k)
    observed = delays[:, None] == np.arange(mechanism.k)
    assert agrees(observed, mechanism.delay_law * (1.0 - mechanism.expected.missing))


def test_other_data_get_other_draws_for_ever() -> None:
    """Two series that differ in the first value only have independent delays from there on."""
    mechanism = ThresholdPerturbation(k=10, c0=7, warm_up="emit")
    same, other = Run(mechanism, 2000), Run(mechanism, 2000)
    same.advance(30)
    other.advance(30, none_at=(1,))
    law = mechanism.delay_law
    equal = (same.delays_since(20) == other.delays_since(20)).mean(axis=0)
    assert agrees(equal, float((law**2).sum()))
    again = Run(mechanism, 2000).advance(30)
    assert (np.array(again.released) == np.array(same.released)).all()


@pytest.mark.parametrize(
    ("epsilon", "printed"), [(4.0, 5.03), (5.0, 2.99), (6.0, 1.51), (7.0, 1.51), (8.0, 0.50)]
)
def test_a_running_count_errs_by_what_waits(epsilon: float, printed: float) -> None:
    """Mean squared error of counting a half of all values; k = 10. What waits is a binomial."""
    mechanism = ThresholdPerturbation.for_budget(10, epsilon, warm_up="emit")
    run = Run(mechanism, rows=300).advance(200)
    counted = np.random.default_rng(5).random((201, 300)) < 0.5
    counted[0] = False
    released = np.take_along_axis(counted, run.since(1), axis=0)
    errors = counted[1:].cumsum(axis=0) - released.cumsum(axis=0)
    error = float((errors[mechanism.k :].astype(float) ** 2).mean())
    waiting, share = mechanism.pending, 0.5
    assert error == pytest.approx(waiting * share * (1 - share) + (waiting * share) ** 2, rel=0.05)
    assert error == pytest.approx(printed, rel=0.05)


def test_the_statistic_notices_a_wrong_law() -> None:
    mechanism: TemporalPerturbation = ThresholdPerturbation(k=5, c0=3)
    run = Run(mechanism, ROWS).advance(TICKS)
    wrong = mechanism.delay_law + np.array([0.01, 0.0, 0.0, 0.0, -0.01])
    assert not agrees(shares(run), wrong)

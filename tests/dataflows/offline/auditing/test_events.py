"""The event that is found tells two streams apart, and where there is nothing, it finds nothing."""

from math import log

import numpy as np
import pytest

from fugu.dataflows.offline.auditing.confidence import leakage_bound
from fugu.dataflows.offline.auditing.events import likeliest_event
from fugu.operators.mechanism import Floats

RUNS, ERROR = 20_000, 1e-4


def proved(seen: Floats, other: Floats) -> float:
    """By an event from one half, counted in the other."""
    half = len(seen) // 2
    event = likeliest_event(seen[half:], other[half:], error=ERROR, delta=0.0)
    hits = np.array(event.count(seen[:half])), np.array(event.count(other[:half]))
    return float(leakage_bound(*hits, half, error=ERROR, delta=0.0))


def test_labels_that_are_likelier_are_found() -> None:
    rng = np.random.default_rng(1)
    seen = rng.choice(4, (RUNS, 1), p=[0.1, 0.1, 0.4, 0.4]).astype(float)
    other = rng.choice(4, (RUNS, 1), p=[0.4, 0.4, 0.1, 0.1]).astype(float)
    assert 0.85 * log(4.0) < proved(seen, other) <= log(4.0)


def test_a_shift_of_continuous_noise_is_found_in_its_tail() -> None:
    rng = np.random.default_rng(2)
    seen = rng.laplace(1.0, 1.0, (RUNS, 3))
    other = np.concatenate([rng.laplace(0.0, 1.0, (RUNS, 1)), rng.laplace(1, 1, (RUNS, 2))], axis=1)
    assert 0.8 < proved(seen, other) <= 1.0


def test_what_only_the_whole_sequence_tells_is_found() -> None:
    """Each column alone is a fair coin in both streams."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 2, RUNS)
    same = np.where(rng.random(RUNS) < 0.9, first, 1 - first)
    seen = np.stack([first, same], axis=1).astype(float)
    other = rng.integers(0, 2, (RUNS, 2)).astype(float)
    assert 0.45 < proved(seen, other) <= log(1.8)
    assert 1.3 < proved(other, seen) <= log(5.0)


def test_nothing_published_is_a_value_of_its_own() -> None:
    rng = np.random.default_rng(4)
    seen = np.where(rng.random((RUNS, 1)) < 0.8, np.nan, rng.random((RUNS, 1)))
    other = np.where(rng.random((RUNS, 1)) < 0.2, np.nan, rng.random((RUNS, 1)))
    assert 0.85 * log(4.0) < proved(seen, other) <= log(4.0)


@pytest.mark.parametrize("columns", [1, 6])
def test_where_there_is_no_difference_nothing_is_proved(columns: int) -> None:
    rng = np.random.default_rng(5)
    for seen, other in (
        rng.random((2, RUNS, columns)),
        rng.integers(0, 3, (2, RUNS, columns)) * 1.0,
    ):
        assert proved(seen, other) == 0.0

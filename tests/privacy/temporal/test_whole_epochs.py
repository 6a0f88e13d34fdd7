"""Compute what a reader believes about one delay, from before the first record of a stream
to after its last release: beginnings, idle ends and finishing included.

Values are independent and say nothing by themselves, and a tick has one with a known probability.
"""

from collections import defaultdict

import pytest

from fugu.operators.temporal.temporal_perturbation import End
from fugu.operators.temporal.threshold import ThresholdPerturbation
from tests.privacy.temporal.epoch_paths import EpochPaths
from tests.thinned import first_in_test


def largest_posterior(paths: EpochPaths) -> float:
    """Return the largest posterior of the tick that a value is from, given all releases."""
    joint: dict[tuple[object, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for weight, released in paths.paths:
        seen = tuple((tick, origin > 0) for tick, origin in released)
        for place, (tick, origin) in enumerate(released):
            if origin > 0:
                joint[seen, place][tick - origin] += weight
    return max(max(law.values()) / sum(law.values()) for law in joint.values())


@pytest.mark.slow
@pytest.mark.parametrize("end", ["drain", "discard"])
@pytest.mark.parametrize("filled", [0.2, 0.8])
@pytest.mark.parametrize(
    ("k", "c0", "ticks"), first_in_test([(3, 2, 10), (4, 2, 9), (4, 3, 10)], 1)
)
def test_no_posterior_of_a_whole_stream_exceeds_the_printed_figure(
    k: int, c0: int, ticks: int, filled: float, end: End
) -> None:
    """Epochs that ended once something had happened to leave, and began with a value that was
    known to be there, gave delays away: 1.0."""
    mechanism = ThresholdPerturbation(k=k, c0=c0)
    paths = EpochPaths(mechanism, idle=k, filled=filled)
    for tick in range(1, ticks):
        paths.advance(tick)
    paths.finish(ticks, end)
    assert sum(weight for weight, _ in paths.paths) == pytest.approx(1.0)
    found = largest_posterior(paths)
    audit = mechanism.audit()
    printed = audit["max_posterior_exchangeable"] if end == "drain" else audit["law_only"]
    assert isinstance(printed, float)
    assert found == pytest.approx(printed, rel=1e-9)

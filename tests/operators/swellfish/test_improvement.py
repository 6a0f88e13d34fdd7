"""Expected noise: theorems 6.1 and 6.2, against Laplace scales written out tick by tick."""

from random import Random

import pytest

from fugu.operators.swellfish.attribution import improvement
from fugu.operators.swellfish.policy import Collection
from fugu.operators.swellfish.relevance import Query
from fugu.operators.swellfish.timeline import Policies
from tests.operators.swellfish.test_lifecycle import random_policy
from tests.operators.swellfish.zones import HOURLY, once

EPSILON = 0.7


def test_ratios_are_those_of_mean_scales() -> None:
    random, ticks = Random(11), range(30, 160)
    for _ in range(20):
        policies = tuple(random_policy(random, f"p{number}", 80) for number in range(4))
        timeline = Policies(HOURLY, Query("sum", 50), (Collection("home", policies),))
        relevances = [timeline.relevance(tick, b"") for tick in ticks]
        intervals = {one for relevance in relevances for one in relevance.intervals}
        window = max(one.end - one.start + 1 for one in intervals)
        uniform = [50 * window / EPSILON for _ in ticks]
        by_sensitivity = [one.sensitivity * window / EPSILON for one in relevances]
        most = [max((one.affected for one in r.intervals), default=0) for r in relevances]
        by_affected = [50 * affected / EPSILON for affected in most]
        by_both = [r.sensitivity * m / EPSILON for r, m in zip(relevances, most, strict=True)]

        found = improvement(timeline, ticks[0], ticks[-1])
        assert found.longest == window
        assert found.sensitivity == pytest.approx(sum(by_sensitivity) / sum(uniform))
        assert found.affected(window) == pytest.approx(sum(by_affected) / sum(uniform))
        assert found.both(window) == pytest.approx(sum(by_both) / sum(uniform))
        assert found.exact == sum(one.sensitivity == 0 for one in relevances) / len(ticks)


def test_range_without_policies_has_nothing_to_compare() -> None:
    timeline = Policies(HOURLY, Query("sum", 50), (Collection("home", (once("tea", 2, 3),)),))
    with pytest.raises(ValueError, match="no policy is relevant"):
        improvement(timeline, 4, 9)

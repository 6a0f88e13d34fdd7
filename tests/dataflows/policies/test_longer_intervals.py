"""Intervals that an earlier version let changes add, longer than those that delta counts."""

from fugu.dataflows.policies.longer_intervals import longer_intervals
from fugu.operators.swellfish.change import Change
from fugu.operators.swellfish.limits import Limits
from fugu.operators.swellfish.policy import Collection
from fugu.operators.swellfish.temporal_sensitivity import Query
from fugu.operators.swellfish.timeline import Policies
from tests.operators.swellfish.zones import HOURLY, once

HOME = Collection("home", (once("tea", 10, 12, 2, 5),))


def limited(interval: int) -> Policies:
    return Policies(HOURLY, Query("sum", 1_000), (HOME,), limits=Limits(interval=interval))


def test_added_intervals_that_are_longer_are_named_with_numbers() -> None:
    cruise, before = once("cruise", 100, 199, 2, 5), limited(100)
    changes = before.changed(b"", Change("home", 0, None, cruise).to_bytes(), now=0)
    [warning] = longer_intervals(limited(40), changes)
    assert "home/cruise has intervals of up to 100 ticks" in warning
    assert "counts 40: within these intervals it is up to 2.5 times as much" in warning
    assert not list(longer_intervals(before, changes))
    assert not list(longer_intervals(limited(2), b"")), "delta counts what is configured"

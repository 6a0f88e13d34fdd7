"""Measure what policies ask of a tick, by the number of collections: time, and what is open."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean

from bench.households import CLOCKS, PARTITIONS, START, Meters, under_policies
from bench.policies import STEP, TIMELINE, UNDER_POLICIES, WEEK, Town, measure_rounds
from fugu.operators.swellfish.policy import Admitted
from fugu.operators.swellfish.timeline import Policies

COLLECTIONS = (1, 10, 100, 300, 1_000)
_SAMPLED = 29
"""Open intervals are counted in one of so many ticks, each day at other hours."""


@dataclass(frozen=True)
class Timeline:
    """CPU seconds of the first tick, which makes the occurrences of five weeks; occurrences and
    distinct intervals that are open, on average."""

    collections: int
    first_seconds: float
    occurrences: float
    intervals: float


@dataclass(frozen=True)
class TimelineCost:
    """CPU microseconds of a tick: of the timeline, and of the rest of a merge step; bytes of the
    merge's state, at most."""

    of: Timeline
    timeline: float
    step: float
    merge_bytes: int


def measure_timelines(say: Callable[[str], None]) -> list[TimelineCost]:
    """By collections."""
    towns, timelines = [], []
    for collections in COLLECTIONS:
        say(f"making {collections:,} collections")
        meters = Meters(max(collections, CLOCKS * PARTITIONS), ticks=1)
        operator = under_policies(UNDER_POLICIES, collections, meters.households)
        timelines.append(_described(operator.timeline))
        towns.append(Town(operator, meters))
    return [
        TimelineCost(timeline, spent[TIMELINE], spent[STEP], town.merge_bytes)
        for timeline, spent, town in zip(timelines, measure_rounds(towns, say), towns, strict=True)
    ]


def _described(policies: Policies) -> Timeline:
    began = time.process_time()
    policies.relevance(START, b"")
    first_seconds = time.process_time() - began
    sampled = range(START, START + WEEK, _SAMPLED)
    return Timeline(
        len(policies.collections),
        first_seconds,
        mean(_open_occurrences(policies, tick) for tick in sampled),
        mean(len(policies.relevance(tick, b"").intervals) for tick in sampled),
    )


def _open_occurrences(policies: Policies, tick: int) -> int:
    return sum(
        1
        for collection in policies.collections
        for policy in collection.policies
        for _ in Admitted(policy).overlapping(tick, tick, policies.tick_milliseconds)
    )

"""What policies ask of a tick, by the number of collections: time, and what is open."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean, median

import numpy as np

from bench.households import PARTITIONS, START, under_policies
from bench.policies import ROUNDS, STEP, TIMELINE, UNDER_POLICIES, WEEK, Town, week_of
from dataflows.aggregates.partials import Partial
from operators.swellfish.admission import Admitted
from operators.swellfish.timeline import Policies

COLLECTIONS = (1, 10, 100, 300, 1_000)
_SUMS = [
    Partial(partition, START, np.zeros(1, dtype=np.int64), np.array([100_000]))
    for partition in range(PARTITIONS)
]
_SAMPLED = 29
"""Of so many ticks what is open is counted in one, each day at other hours."""


@dataclass(frozen=True)
class TimelineCost:
    """CPU seconds of a first tick, which makes the occurrences of five weeks, and microseconds of
    any other: of the timeline, and of the rest of a merge step; open occurrences and distinct open
    intervals, on average; bytes of the merge's state, at most."""

    collections: int
    first_seconds: float
    timeline: float
    step: float
    occurrences: float
    intervals: float
    merge_bytes: int


def measure_timelines(say: Callable[[str], None]) -> list[TimelineCost]:
    """By collections."""
    costs = []
    for collections in COLLECTIONS:
        say(f"{collections:,} collections")
        costs.append(_measure(collections))
    return costs


def _measure(collections: int) -> TimelineCost:
    operator = under_policies(UNDER_POLICIES, collections, collections)
    began = time.process_time()
    operator.timeline.relevance(START, b"")
    first_seconds = time.process_time() - began
    town = Town(operator, collections)
    merge_bytes = town.release(week_of(_SUMS))
    rounds = []
    for _ in range(ROUNDS):
        town.watch.seconds.clear()
        town.release(week_of(_SUMS))
        rounds.append(dict(town.watch.seconds))
    timeline, step = (median(one[part] for one in rounds) for part in (TIMELINE, STEP))
    sampled = range(START, START + WEEK, _SAMPLED)
    return TimelineCost(
        collections,
        first_seconds,
        timeline / WEEK * 1e6,
        (step - timeline) / WEEK * 1e6,
        mean(_open_occurrences(operator.timeline, tick) for tick in sampled),
        mean(len(operator.timeline.relevance(tick, b"").intervals) for tick in sampled),
        merge_bytes,
    )


def _open_occurrences(policies: Policies, tick: int) -> int:
    width = policies.tick_milliseconds
    return sum(
        1
        for collection in policies.collections
        for policy in collection.policies
        for _ in Admitted(policy).overlapping(tick, tick, width)
    )

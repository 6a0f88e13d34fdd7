"""The figures of aggregation under policies as tables."""

from collections.abc import Sequence
from dataclasses import asdict

from bench.grid import Grid, figures
from bench.households import PARTITIONS, POLICIES
from bench.page import Page
from bench.policies import COLLECTIONS, PARTS, PASS_THROUGH, ROUNDS, UNDER_POLICIES, WEEK, TickCost
from bench.timelines import TimelineCost


def policies_page(
    ticks: Sequence[TickCost], timelines: Sequence[TimelineCost], command: str, load_before: float
) -> Page:
    """Return what is written and shown."""
    return Page(
        "policies",
        "Aggregates under policies",
        command,
        load_before,
        {
            "command": command,
            "load_before": load_before,
            "collections": COLLECTIONS,
            "policies of a collection": POLICIES,
            "rounds": ROUNDS,
            "ticks": [asdict(cost) for cost in ticks],
            "timelines": [asdict(cost) for cost in timelines],
        },
        [_speeds(ticks), _parts(ticks), _timelines(timelines)],
        [
            f"Every key sends one record of 80 bytes a tick of 15 minutes; {PARTITIONS} partitions "
            f"in turn, one process, no Kafka, CPU time, median of {ROUNDS} rounds in turns. "
            "Pass-through decodes and encodes the same records. `uniform` sums them without "
            f"policies and draws noise at every tick; `{UNDER_POLICIES}` decides with noise first. "
            f"Records are those of {WEEK} ticks, or of as many as make 100,000 records, and at "
            "least two, in the first of which users are new; from the timeline on, a part is the "
            "mean of a week.",
            "Policies are at random hours and days, for one hour to eight, so that few intervals "
            "are alike: a timeline asks again where one begins or ends, and a merge step reads and "
            "writes a ledger for each that is open. Neither ever meets a key. First tick: once in "
            "four weeks the occurrences of five weeks are made; it is not part of the others.",
        ],
    )


def _speeds(ticks: Sequence[TickCost]) -> Grid:
    without = {cost.keys: cost for cost in ticks if cost.strategy != UNDER_POLICIES}
    rows = []
    for cost in (cost for cost in ticks if cost.strategy == UNDER_POLICIES):
        uniform = without[cost.keys]
        through = cost.microseconds[PASS_THROUGH]
        rows.append(
            [
                f"{cost.keys:,}",
                *figures(1, 1e6 / cost.in_all, 1e6 / uniform.in_all, 1e6 / through),
                *figures(2, uniform.in_all / cost.in_all, through / cost.in_all),
                *figures(2, uniform.microseconds[PASS_THROUGH] / uniform.in_all),
            ]
        )
    return Grid(
        f"Ticks/s under {COLLECTIONS} collections of {POLICIES} policies, from records to figures",
        [
            "keys",
            "policies",
            "without",
            "pass-through",
            "policies / without",
            "policies / pass-through",
            "without / pass-through",
        ],
        rows,
    )


def _parts(ticks: Sequence[TickCost]) -> Grid:
    rows = [
        [
            f"{cost.keys:,}, {cost.strategy}",
            *figures(0, *(cost.microseconds[part] for part in PARTS)),
            *figures(0, cost.merge_bytes, cost.key_bytes),
        ]
        for cost in ticks
    ]
    return Grid(
        "CPU µs of a tick by part, and bytes of state: of the merge, and of a key",
        ["keys, strategy", *PARTS, "merge", "a key"],
        rows,
    )


def _timelines(timelines: Sequence[TimelineCost]) -> Grid:
    rows = [
        [
            f"{cost.of.collections:,}",
            *figures(1, cost.of.occurrences, cost.of.intervals, cost.timeline),
            *figures(1, cost.timeline / cost.of.occurrences, cost.step),
            *figures(0, cost.of.first_seconds * 1e3, cost.merge_bytes),
        ]
        for cost in timelines
    ]
    return Grid(
        "CPU µs of a tick by collections, and bytes of the merge's state",
        [
            "collections",
            "open occurrences",
            "open intervals",
            "timeline",
            "/ open occurrence",
            "merge step",
            "first tick, ms",
            "state",
        ],
        rows,
    )

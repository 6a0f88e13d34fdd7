"""Show the figures of aggregation as tables."""

from collections.abc import Sequence
from dataclasses import asdict

from bench.aggregates import (
    AGGREGATION,
    FIGURES,
    IDS,
    PARTITIONS,
    PASS_THROUGH,
    TICKS,
    USERS,
    Cost,
)
from bench.grid import Grid, figures
from bench.page import Page


def aggregates_page(measured: Sequence[Cost], command: str, load_before: float) -> Page:
    """Return what is written and shown."""
    costs = [one for one in measured if not one.totals]
    totals = [one for one in measured if one.totals]
    return Page(
        "aggregates",
        "Aggregates",
        command,
        load_before,
        {
            "command": command,
            "load_before": load_before,
            "users": USERS,
            "ticks": TICKS,
            "costs": [asdict(cost) for cost in measured],
        },
        [_speeds(costs), _ticks(costs), _totals(costs, totals)],
        [
            f"Strategy sample with a window of {TICKS} ticks, so that one tick is published and "
            f"{TICKS - 1} repeat it; {PARTITIONS} partitions in turn, one process, no Kafka, CPU "
            "time. Every user sends one record of 80 bytes a tick; users are new in the first "
            "one. Pass-through decodes and encodes the same batches.",
            "Running totals are under a personal cap of 2 ticks a day: half of all contributions "
            "are dropped, and every tick is published.",
            "Figures and release ids are written at every tick, and are not part of the ratio. A "
            "publication draws noise for every group. Where contributions are bounded, state "
            "grows with users; in the merge and in the log, with groups.",
        ],
    )


def _speeds(costs: Sequence[Cost]) -> Grid:
    rows = []
    for cost in costs:
        through, aggregated = cost.microseconds(PASS_THROUGH), cost.microseconds(*AGGREGATION)
        parts = (cost.microseconds(part) for part in AGGREGATION)
        rows.append(
            [
                f"{cost.groups:,}",
                *figures(0, 1e6 / aggregated, 1e6 / through),
                *figures(2, through / aggregated, *parts),
            ]
        )
    return Grid(
        f"Records to merged ticks: {USERS * TICKS:,} records of {USERS:,} users; parts in µs a "
        "record",
        ["groups", "records/s", "pass-through", "ratio", *AGGREGATION],
        rows,
    )


def _totals(costs: Sequence[Cost], totals: Sequence[Cost]) -> Grid:
    rows = [
        [
            f"{one.groups:,}",
            *figures(0, 1e6 / one.microseconds(*AGGREGATION)),
            *figures(2, sampled.microseconds(*AGGREGATION) / one.microseconds(*AGGREGATION)),
            *figures(1, one.publication_seconds * 1e3),
            *figures(0, one.bytes_per_user),
        ]
        for one, sampled in zip(totals, costs, strict=False)
    ]
    return Grid(
        "Running totals under a personal cap, from records to merged ticks; ms and bytes",
        ["groups", "records/s", "of sample", "publication", "a user"],
        rows,
    )


def _ticks(costs: Sequence[Cost]) -> Grid:
    rows = [
        [
            f"{cost.groups:,}",
            *figures(1, cost.publication_seconds * 1e3),
            *figures(1, *(cost.seconds[part] / TICKS * 1e3 for part in (FIGURES, IDS))),
            *figures(1, cost.publication_bytes / 2**20),
            *figures(0, cost.bytes_per_user, cost.merge_bytes, cost.log_bytes),
        ]
        for cost in costs
    ]
    return Grid(
        "A tick: CPU milliseconds, and bytes of an open one",
        [
            "groups",
            "publication",
            "figures",
            "release ids",
            "publication, MiB",
            "a user",
            "merge",
            "log",
        ],
        rows,
    )

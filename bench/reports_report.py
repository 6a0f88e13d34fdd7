"""Costs of reports under a budget of windows as tables."""

from dataclasses import asdict

from bench.grid import Grid, figures
from bench.page import Page
from bench.reports import BASELINE, ReportCost
from fugu.operators import compiled


def reports_page(costs: list[ReportCost], command: str, load_before: float) -> Page:
    """One row per kind: microseconds, and ratios to `crr` in the same round."""
    columns = list(dict.fromkeys(cost.what for cost in costs))
    by_operator: dict[str, dict[str, ReportCost]] = {}
    for cost in costs:
        by_operator.setdefault(cost.operator, {})[cost.what] = cost
    absolute, relative = [], []
    for name, row in by_operator.items():
        shown = [(row[what], by_operator[BASELINE][what]) for what in columns]
        absolute.append([name, *figures(2, *(own.median for own, _ in shown))])
        relative.append([name, *figures(2, *(own.ratio(crr) for own, crr in shown))])
    header = ["operator", *columns]
    return Page(
        "reports",
        "Reports under a budget of windows",
        command,
        load_before,
        {"compiled": compiled.described(), "costs": [asdict(cost) for cost in costs]},
        [
            Grid("CPU µs a record, median of rounds", header, absolute),
            Grid("Divided by crr, median of ratios within rounds", header, relative),
        ],
        [
            "Ten symbols, windows of ten, 10 nats; pba_ldp with all flags. Shapes: the lift of one "
            "partition, batches of 5,000 records, decoded before. Whole: codec, lift, publisher "
            "and state of a pipeline with 2,500 users, without Kafka.",
            "Rounds are interleaved: where the machine is busy, read the ratios.",
        ],
    )

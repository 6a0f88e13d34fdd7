"""The costs of collectors as a table."""

from collections.abc import Sequence
from dataclasses import asdict

from bench.collectors import EPSILON, GROUPS, USERS, WINDOW, CollectorCost
from bench.grid import Grid, figures
from bench.page import Page


def collectors_page(costs: Sequence[CollectorCost], command: str, load_before: float) -> Page:
    """Return the page of these costs."""
    sample = costs[0].ticks
    header = ["kind", *(f"{groups:,} groups" for groups in GROUPS), "/ sample", "a user's reports"]
    rows = [
        [
            cost.kind,
            *figures(0, *(cost.ticks[groups] for groups in GROUPS)),
            ", ".join(f"{cost.ticks[groups] / sample[groups]:.2f}" for groups in GROUPS),
            "" if cost.user is None else f"{cost.user:.2f}",
        ]
        for cost in costs
    ]
    return Page(
        "collectors",
        "Collectors of private reports",
        command,
        load_before,
        {"costs": [asdict(cost) for cost in costs]},
        [
            Grid(
                "CPU µs of a tick in the merge, by groups; of a user's reports, 10 groups",
                header,
                rows,
            )
        ],
        [
            f"Window {WINDOW}, epsilon {EPSILON:g}; a mean over ticks, of which sample publishes "
            f"one in {WINDOW}. Reports: {USERS:,} users who are all there, SUE, CPU µs a user and "
            "tick; of population division that includes those who are not asked.",
        ],
    )

"""Costs of local operators as tables."""

from dataclasses import asdict

from bench.grid import Grid, figures
from bench.operator_costs import SHAPES, OperatorCost
from bench.page import Page
from operators import compiled


def operators_page(costs: list[OperatorCost], command: str, load_before: float) -> Page:
    """One row per operator: microseconds, then ratios to the first shape."""
    by_operator: dict[str, list[OperatorCost]] = {}
    for cost in costs:
        by_operator.setdefault(cost.operator, []).append(cost)
    header = ["operator", *SHAPES, "state"]
    absolute, relative = [], []
    for name, row in by_operator.items():
        times = [cost.microseconds for cost in row]
        absolute.append([name, *figures(2, *times), *figures(0, row[0].state_bytes)])
        relative.append([name, *figures(2, *(time / times[0] for time in times))])
    return Page(
        "operators",
        "Local operators",
        command,
        load_before,
        {"compiled": compiled.described(), "costs": [asdict(cost) for cost in costs]},
        [
            Grid("Lift, CPU µs a record, median; state in bytes a user", header, absolute),
            Grid(f"Divided by {header[1]}", header[:-1], relative),
        ],
        [
            f"Batches of 5,000 records of one partition, decoded before. Compiled steps: "
            f"{compiled.described()}. Zipf(1.2) and half one key: over 1,000 users."
        ],
    )

"""Costs of local operators as tables."""

from dataclasses import asdict

from bench.grid import Grid, figures
from bench.operator_costs import SHAPES, OperatorCost
from bench.operator_parts import PARTS, STEP, USERS, PartCost
from bench.page import Page
from fugu.operators import compiled


def operators_page(
    costs: list[OperatorCost], parts: list[PartCost], command: str, load_before: float
) -> Page:
    """One row per operator: microseconds, ratios to the first shape, and parts."""
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
        {
            "compiled": compiled.described(),
            "costs": [asdict(cost) for cost in costs],
            "parts": [asdict(cost) for cost in parts],
        },
        [
            Grid("Lift, CPU µs a record, median; state in bytes a user", header, absolute),
            Grid(f"Divided by {header[1]}", header[:-1], relative),
            parts_grid(parts),
        ],
        [
            f"Batches of 5,000 records of one partition, decoded before. Compiled steps: "
            f"{compiled.described()}. Zipf(1.2) and half one key: over 1,000 users.",
            f"Part by part: configured as by `bench peers`, {USERS:,} users, without Kafka.",
        ],
    )


def parts_grid(parts: list[PartCost]) -> Grid:
    """One row per operator; "whole" is all parts without Kafka."""
    rows = []
    for cost in parts:
        spent = [cost.microseconds.get(part, 0.0) for part in PARTS]
        whole = sum(spent) - cost.microseconds.get(STEP, 0.0)
        rows.append([cost.operator, *figures(2, *spent, whole)])
    return Grid("Part by part, CPU µs a record", ["operator", *PARTS, "whole"], rows)

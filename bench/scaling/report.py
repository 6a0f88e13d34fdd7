"""Costs by what was varied, as tables and for machines."""

from dataclasses import asdict
from statistics import median

from bench.grid import Grid, figures
from bench.page import Page
from bench.scaling.cases import AXES, Case
from bench.scaling.measuring import Cost, Results


def scaling_page(results: Results) -> Page:
    """One table for each thing that was varied."""
    settings = results.settings
    document: dict[str, object] = {
        "settings": asdict(settings),
        "costs": {
            axis: [
                {"case": asdict(case), "runs": [asdict(cost) for cost in costs]}
                for case, costs in cases
            ]
            for axis, cases in results.costs.items()
        },
        "restart": results.restart and asdict(results.restart),
        "state_bytes_per_user": results.state_bytes,
        "failed": results.failed,
    }
    grids = [_axis(axis, cases) for axis, cases in results.costs.items() if cases]
    return Page(
        "scaling",
        "Cost of a record, by users, size, partitions, symbols and skew",
        settings.command,
        settings.load_before,
        document,
        [*grids, *_state(results)],
        [
            "`fugu run` (fast), conditional randomized response; everybody sent once before; "
            f"medians of {settings.rounds}. Last column: CPU beside the cheapest of the table. "
            "Where it is not varied: 10,000 users, 120 bytes, 4 partitions, 10 symbols, uniform "
            "keys; 1,000 users from 1,000 symbols on.",
        ],
    )


def label(axis: str, case: Case) -> str:
    """Return what is varied, as people write it."""
    value = getattr(case, axis)
    return f"{value:,}" if isinstance(value, int) else str(value)


def cpu(costs: list[Cost]) -> float:
    """Microseconds per record, the median."""
    return median(cost.cpu_microseconds for cost in costs)


def _axis(axis: str, cases: list[tuple[Case, list[Cost]]]) -> Grid:
    cheapest = min(cpu(costs) for _, costs in cases)
    return Grid(
        f"By {AXES[axis][0]}",
        [AXES[axis][0], "CPU µs per record", "range", "records/s", "times the cheapest"],
        [
            [
                label(axis, case),
                *figures(2, cpu(costs)),
                _range(costs),
                *figures(0, median(cost.records_per_second for cost in costs)),
                *figures(2, cpu(costs) / cheapest),
            ]
            for case, costs in cases
        ],
    )


def _range(costs: list[Cost]) -> str:
    all_of_them = [cost.cpu_microseconds for cost in costs]
    return f"{min(all_of_them):.2f} to {max(all_of_them):.2f}"


def _state(results: Results) -> list[Grid]:
    grids = []
    if restart := results.restart:
        grids.append(
            Grid(
                f"Restart with the state of {restart.users:,} users",
                ["", ""],
                [
                    ["seconds from start to the first new release", f"{restart.seconds:.1f}"],
                    ["state on disk, bytes per user", f"{restart.state_bytes_per_user:.0f}"],
                    ["peak memory in MiB", f"{restart.peak_mebibytes:,.0f}"],
                ],
            )
        )
    rows = [[kind, f"{size:,.0f}"] for kind, size in results.state_bytes.items()]
    grids.append(
        Grid("State on disk after 12 records of everybody", ["operator", "bytes per user"], rows)
    )
    if results.failed:
        grids.append(Grid("Failed", ["", ""], [[*pair] for pair in results.failed.items()]))
    return grids

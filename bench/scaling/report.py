"""Costs by what was varied, as tables and for machines."""

from dataclasses import asdict
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from bench.grid import Grid, figures
from bench.page import Page
from bench.scaling.measuring import AXES, Case, Cost, Results


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


# CPU per record beside what is varied: a panel for each.


_COLOUR = "#1f4e79"
_COLUMNS = 3


def draw(results: Results, path: Path) -> None:
    """Medians, with the range of all rounds."""
    measured = {axis: cases for axis, cases in results.costs.items() if cases}
    if not measured:
        return
    rows = -(-len(measured) // _COLUMNS)
    figure = Figure(figsize=(10.5, 3.1 * rows), dpi=150, layout="constrained")
    panels = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for axes, (axis, cases) in zip(panels, measured.items(), strict=False):
        _panel(axes, axis, cases)
    for axes in panels[len(measured) :]:
        axes.set_visible(False)
    figure.suptitle("CPU microseconds per record of fugu run", x=0.01, ha="left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _panel(axes: Axes, axis: str, cases: list[tuple[Case, list[Cost]]]) -> None:
    places = list(range(len(cases)))
    middles = [cpu(costs) for _, costs in cases]
    ends = [[cost.cpu_microseconds for cost in costs] for _, costs in cases]
    below = [middle - min(all_of_them) for middle, all_of_them in zip(middles, ends, strict=True)]
    above = [max(all_of_them) - middle for middle, all_of_them in zip(middles, ends, strict=True)]
    axes.errorbar(places, middles, yerr=[below, above], color=_COLOUR, marker="o", capsize=3)
    for place, middle, all_of_them in zip(places, middles, ends, strict=True):
        axes.annotate(
            f"{middle:,.1f}",
            (place, max(all_of_them)),
            (0, 5),
            textcoords="offset points",
            ha="center",
        )
    axes.set_xticks(places, [label(axis, case) for case, _ in cases], fontsize=8)
    if max(middles) > 10 * min(middles):
        axes.set_yscale("log")
        axes.set_ylim(min(middles) / 2, max(middles) * 3)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, max(map(max, ends)) * 1.25)
    axes.set_xlim(-0.4, len(cases) - 0.6)
    axes.set_title(AXES[axis][0], loc="left", fontsize=10)
    axes.grid(axis="y", color="#e5e8ec", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)

"""CPU per record beside what is varied: a panel for each."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from bench.scaling.cases import AXES, Case
from bench.scaling.measuring import Cost, Results
from bench.scaling.report import cpu, label

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

"""The picture: truth, figures and their bars, in two zones and with two strategies."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from examples.city.analyst import Figures
from examples.city.people import TICKS, ZONES
from examples.city.report import Released
from fugu.operators.mechanism import Integers

SHOWN = ("centre", "riverside")
_TRUE, _RELEASED, _BAND = "#2b2b2b", "#1f6f8b", "#bcdbe5"
_HOURS = np.arange(TICKS + 1) / 4


def save(released: Released, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    strategies = list(released.by_strategy)
    figure = Figure(figsize=(10.0, 6.2), dpi=150, layout="constrained")
    grid = figure.subplots(len(SHOWN), len(strategies), sharex=True, sharey="row", squeeze=False)
    for row, zone in enumerate(SHOWN):
        truth = released.truth[:, list(ZONES).index(zone)]
        for column, strategy in enumerate(strategies):
            axes = grid[row][column]
            _draw(axes, truth, released.by_strategy[strategy][zone])
            if not row:
                axes.set_title(strategy)
        grid[row][0].set_ylabel(f"people in {zone}")
        grid[row][0].set_ylim(0, truth.max() * 1.5)
    for axes in grid[-1]:
        axes.set_xlabel("hour of the day")
    figure.legend(
        *grid[0][-1].get_legend_handles_labels(),
        loc="outside lower center",
        frameon=False,
        ncols=4,
    )
    figure.savefig(path)


def _draw(axes: Axes, truth: Integers, figures: Figures) -> None:
    lower, upper = figures.bars
    axes.stairs(upper, _HOURS, baseline=lower, fill=True, color=_BAND, label="95 % of the noise")
    axes.stairs(figures.values, _HOURS, baseline=None, color=_RELEASED, lw=1.3, label="released")
    axes.plot(_HOURS[:-1] + 0.125, truth, color=_TRUE, lw=1.1, label="true")
    published = np.flatnonzero(figures.published)
    axes.plot(
        _HOURS[published] + 0.125,
        figures.values[published],
        "o",
        color=_RELEASED,
        markersize=4.0,
        label="published then",
    )
    axes.set_xlim(0, 24)
    axes.xaxis.set_major_locator(MultipleLocator(3))
    axes.grid(color="#e9ecef", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

"""The picture: the busiest district over two weeks, what the budget does, and two rivals."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, PercentFormatter

from examples.bike_share.report import Released
from examples.bike_share.riders import DISTRICTS, PER_DAY, TICKS
from operators.mechanism import Floats, Integers

_TRUE, _RELEASED, _BAND, _RIVAL, _SPENT = "#2b2b2b", "#1f6f8b", "#bcdbe5", "#c8553d", "#f5ead6"
_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS = np.arange(TICKS + 1)
_CLOSE = slice(10 * PER_DAY, TICKS)
"""Thursday to Sunday."""


def save(released: Released, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    district = list(DISTRICTS)[released.busiest]
    truth, figures = released.truth[:, released.busiest], released.figures[district]
    figure = Figure(figsize=(11.0, 8.0), dpi=150, layout="constrained")
    grid = figure.add_gridspec(3, 3, height_ratios=(3.2, 0.7, 2.6))
    whole, budget = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, :])
    close = figure.add_subplot(grid[2, 0])
    panels = [close, *(figure.add_subplot(grid[2, at], sharey=close) for at in (1, 2))]
    for axes in (whole, close):
        lower, upper = figures.bars
        axes.stairs(upper, _HOURS, baseline=lower, fill=True, color=_BAND, label="95 % bars")
        _line(axes, figures.values, _RELEASED, "released (real_time, adaptive)")
        _finish(axes, truth, int(released.measured.sum()))
    for axes, (name, values) in zip(panels[1:], released.rivals.items(), strict=True):
        _line(axes, values[:, released.busiest], _RIVAL, "rival, simulated at the same epsilon")
        _finish(axes, truth, int(released.measured.sum()))
        axes.set_title(f"{name}, simulated")
    budget.stairs(
        figures.remaining / (figures.spent + figures.remaining), _HOURS, fill=True, color=_RELEASED
    )
    _finish(budget, None, int(released.measured.sum()))
    budget.set_ylabel("budget left")
    budget.yaxis.set_major_formatter(PercentFormatter(1.0))
    whole.set_title(
        f"Riders who rent in {district}, hour by hour: epsilon {released.epsilon:g} for all of them"
    )
    whole.set_ylabel("riders in an hour")
    close.set_ylabel("riders in an hour")
    close.set_title("real_time")
    for axes in (whole, budget):
        axes.set_xlim(0, TICKS)
    for axes in panels:
        axes.set_xlim(_CLOSE.start, _CLOSE.stop)
    handles = {
        label: handle
        for axes in (whole, panels[1])
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", frameon=False, ncols=5
    )
    figure.savefig(path)


def _line(axes: Axes, values: Floats, color: str, label: str) -> None:
    axes.stairs(values, _HOURS[: len(values) + 1], baseline=None, color=color, lw=1.2, label=label)


def _finish(axes: Axes, truth: Integers | None, spent_after: int) -> None:
    if truth is not None:
        axes.plot(_HOURS[:-1] + 0.5, truth, color=_TRUE, lw=0.9, label="true")
    axes.axvspan(spent_after, TICKS, color=_SPENT, zorder=0, label="budget is spent")
    axes.xaxis.set_major_locator(MultipleLocator(PER_DAY))
    axes.xaxis.set_major_formatter(
        lambda hour, _: _NAMES[int(hour) // PER_DAY % 7] if hour < TICKS else ""
    )
    axes.grid(color="#e9ecef", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

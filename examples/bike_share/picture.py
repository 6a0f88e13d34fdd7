"""The picture: the busiest district over two weeks, what is left of the budget, and two rivals."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, PercentFormatter

from examples.bike_share.report import Released
from examples.bike_share.riders import DISTRICTS, PER_DAY, TICKS
from fugu.operators.mechanism import Floats, Integers

_TRUE, _RELEASED, _BAND, _RIVAL, _SPENT = "#2b2b2b", "#1f6f8b", "#bcdbe5", "#c8553d", "#f5ead6"
_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS = np.arange(TICKS + 1)
_ALL, _LAST_DAYS = slice(0, TICKS), slice(10 * PER_DAY, TICKS)


def save(released: Released, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    busiest = released.busiest
    district, truth = list(DISTRICTS)[busiest], released.truth[:, busiest]
    figures = released.figures[district]
    spent_after = int(released.measured.sum())
    figure = Figure(figsize=(11.0, 8.0), dpi=150, layout="constrained")
    grid = figure.add_gridspec(3, 3, height_ratios=(3.2, 0.7, 2.8))

    whole, budget = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, :])
    close = figure.add_subplot(grid[2, 0])
    for axes, ticks in ((whole, _ALL), (close, _LAST_DAYS)):
        _bars(axes, ticks, *figures.bars)
        _lines(axes, ticks, truth, figures.values, _RELEASED, "released (real_time)")
        axes.set_ylabel("riders in an hour")
    whole.set_title(
        f"Riders who rent in {district}: epsilon {released.epsilon:g} for all hours together"
    )
    close.set_title("real_time, Thursday to Sunday")

    left = figures.remaining / (figures.spent + figures.remaining)
    budget.stairs(left, _HOURS, fill=True, color=_RELEASED)
    budget.set_ylabel("budget left")
    budget.yaxis.set_major_formatter(PercentFormatter(1.0))

    others = [figure.add_subplot(grid[2, column], sharey=close) for column in (1, 2)]
    for axes, (name, values) in zip(others, released.rivals.items(), strict=True):
        _lines(axes, _LAST_DAYS, truth, values[:, busiest], _RIVAL, "rival, simulated")
        axes.set_title(f"{name}, simulated at epsilon {released.epsilon:g}")

    for axes in (whole, budget):
        _days(axes, _ALL, spent_after)
    for axes in (close, *others):
        _days(axes, _LAST_DAYS, spent_after)
    handles = [axes.get_legend_handles_labels() for axes in (whole, others[0])]
    named = {label: handle for pair in handles for handle, label in zip(*pair, strict=True)}
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", frameon=False, ncols=len(named)
    )
    figure.savefig(path)


def _bars(axes: Axes, ticks: slice, lower: Floats, upper: Floats) -> None:
    axes.stairs(
        upper[ticks],
        _edges(ticks),
        baseline=lower[ticks],
        fill=True,
        color=_BAND,
        label="95 % bars",
    )


def _lines(
    axes: Axes, ticks: slice, truth: Integers, values: Floats, color: str, label: str
) -> None:
    axes.stairs(values[ticks], _edges(ticks), baseline=None, color=color, lw=1.2, label=label)
    axes.plot(_HOURS[ticks] + 0.5, truth[ticks], color=_TRUE, lw=0.9, label="true")


def _days(axes: Axes, ticks: slice, spent_after: int) -> None:
    axes.axvspan(spent_after, TICKS, color=_SPENT, zorder=0, label="budget spent: predictions only")
    axes.set_xlim(ticks.start, ticks.stop)
    axes.xaxis.set_major_locator(MultipleLocator(PER_DAY))
    axes.xaxis.set_major_formatter(
        lambda hour, _: _NAMES[int(hour) // PER_DAY % 7] if hour < TICKS else ""
    )
    axes.grid(color="#e9ecef", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _edges(ticks: slice) -> Integers:
    return _HOURS[ticks.start : ticks.stop + 1]

"""The picture: counts of two zones, both errors, and what both topics tell, over the day."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from examples.commute.report import CENTRAL, LOCAL, TOGETHER, Released
from examples.commute.riders import FIRST_HOUR, ZONES

SHOWN = ("north", "centre")
_TRUE = "#2b2b2b"
_COLOURS = {LOCAL: "#c46210", CENTRAL: "#1f6f8b", TOGETHER: "#7b2d8b"}
_BANDS = {LOCAL: "#f3d9c0", CENTRAL: "#bcdbe5"}


def save(released: Released, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    figure = Figure(figsize=(10.0, 6.6), dpi=150, layout="constrained")
    grid = figure.subplots(2, 2, sharex=True)
    hours = FIRST_HOUR + np.arange(len(released.truth) + 1) / 4
    for axes, zone in zip(grid[0], SHOWN, strict=True):
        _draw_counts(axes, released, zone, hours)
    _draw_errors(grid[1][0], released, hours)
    _draw_leakage(grid[1][1], released, hours)
    for axes in grid.ravel():
        axes.set_xlim(hours[0], hours[-1])
        axes.xaxis.set_major_locator(MultipleLocator(2))
        axes.grid(color="#e9ecef", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[1]:
        axes.set_xlabel("hour of the day")
    figure.savefig(path)


def _draw_counts(axes: Axes, released: Released, zone: str, hours: np.ndarray) -> None:
    column = ZONES.index(zone)
    ends = []
    for name, (values, errors) in released.estimates.items():
        reach = 1.96 * np.nan_to_num(errors[:, column])
        low, high = values[:, column] - reach, values[:, column] + reach
        ends += [low.min(), high.max()]
        axes.stairs(high, hours, baseline=low, fill=True, color=_BANDS[name], alpha=0.8)
    for name, (values, _) in released.estimates.items():
        axes.stairs(values[:, column], hours, baseline=None, color=_COLOURS[name], label=name)
    middle = hours[:-1] + 0.125
    axes.plot(middle, released.truth[:, column], color=_TRUE, lw=1.3, label="true")
    axes.set_ylim(min(ends), max(ends))
    axes.set_title(f"riders in {zone}, with 95 % of the noise", fontsize=11)
    axes.legend(frameon=False, fontsize=9)


def _draw_errors(axes: Axes, released: Released, hours: np.ndarray) -> None:
    for name in (LOCAL, CENTRAL):
        axes.stairs(released.error(name), hours, baseline=None, color=_COLOURS[name], label=name)
    axes.set_yscale("log")
    axes.set_title("mean error of a count (riders)", fontsize=11)
    axes.legend(frameon=False, fontsize=9)


def _draw_leakage(axes: Axes, released: Released, hours: np.ndarray) -> None:
    for name, told in released.leakage.items():
        axes.stairs(told.backward, hours, baseline=None, color=_COLOURS[name], label=name)
    axes.set_ylim(0, None)
    axes.set_title("nats told so far about where a rider is now", fontsize=11)
    axes.legend(frameon=False, fontsize=9)

"""The picture: one person's day, and an hour of it with values where they came and where they left.

Only a generated example can draw the lines between the two.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from examples.heart_rate.analyst import moving_average
from examples.heart_rate.report import Recovered
from fugu.operators.mechanism import Floats

_TRUE, _RECOVERED, _NOISY = "#2b2b2b", "#d1495b", "#c3ced9"
_MARKED, _MOVED = "#f6ebd2", "#9a9a9a"
_HOUR = 60
_RUNNING, _BEFORE_RUN = 135.0, 12


def save(recovered: Recovered, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    person = _runner(recovered.truth)
    figure = Figure(figsize=(9.0, 7.4), dpi=150, layout="constrained")
    day, hour = figure.subplots(2, 1, height_ratios=(1.0, 1.15))
    first = int(np.argmax(recovered.truth[person] > _RUNNING)) - _BEFORE_RUN
    _draw_day(day, recovered, person, first)
    _draw_hour(hour, recovered, person, first)
    for axes in (day, hour):
        axes.set_ylabel("beats a minute")
        axes.xaxis.set_major_formatter(FuncFormatter(_clock))
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def _draw_day(axes: Axes, recovered: Recovered, person: int, first: int) -> None:
    hours = np.arange(recovered.truth.shape[1]) / _HOUR
    for series, colour, width, style, label in (
        (recovered.noisy, _NOISY, 1.0, "-", "from values with Laplace noise"),
        (recovered.truth, _TRUE, 3.2, "-", "true"),
        (recovered.moved_back, _RECOVERED, 1.3, "-", "recovered from the sanitized topic"),
    ):
        average = moving_average(series[person])
        axes.plot(hours, average, style, color=colour, linewidth=width, label=label)
    axes.axvspan(first / _HOUR, first / _HOUR + 1, color=_MARKED, zorder=0)
    axes.set(xlim=(0, 24), ylim=(0, 215), title="One person's day, averaged over 10 minutes")
    axes.xaxis.set_major_locator(MultipleLocator(3))
    axes.legend(frameon=False, loc="upper left", ncols=3)


def _draw_hour(axes: Axes, recovered: Recovered, person: int, first: int) -> None:
    shown = slice(first, first + _HOUR)
    hours = np.arange(first, first + _HOUR) / _HOUR
    truth, told = recovered.truth[person], recovered.published[person]
    lines = [
        [(came / _HOUR, truth[came]), (left / _HOUR, truth[came])]
        for came, left in _displaced(truth, told, recovered.window)
        if came < first + _HOUR and left >= first
    ]
    axes.add_collection(LineCollection(lines, colors=_MOVED, linewidths=0.8, zorder=1))
    axes.plot(
        hours,
        truth[shown],
        "o",
        markersize=5.5,
        markerfacecolor="none",
        markeredgecolor=_TRUE,
        label="measured",
    )
    axes.plot(
        hours,
        told[shown],
        "o",
        markersize=3.4,
        color=_RECOVERED,
        label=f"published: the same values, 0 to {recovered.window - 1} minutes later",
    )
    for series, style, colour, label in (
        (truth, ":", _TRUE, "true average of 10 minutes"),
        (
            recovered.moved_back[person],
            "-",
            _RECOVERED,
            f"recovered average, {recovered.lag} minutes earlier",
        ),
    ):
        average = moving_average(series)[shown]
        axes.plot(hours, average, style, color=colour, linewidth=1.4, label=label)
    axes.set(xlim=(hours[0] - 0.01, hours[-1] + 0.01), title="The marked hour, value by value")
    axes.xaxis.set_major_locator(MultipleLocator(1 / 6))
    axes.legend(frameon=False, loc="lower right")


def _clock(hours: float, _: object) -> str:
    return f"{round(hours * _HOUR) // _HOUR}:{round(hours * _HOUR) % _HOUR:02d}"


def _displaced(truth: Floats, told: Floats, window: int) -> list[tuple[int, int]]:
    """Return when values came and when they left, of those that only one value can have been."""
    pairs = []
    for left in range(len(told)):
        before = max(0, left - window + 1)
        came = np.flatnonzero(truth[before : left + 1] == told[left])
        if len(came) == 1:
            pairs.append((before + int(came[0]), left))
    return pairs


def _runner(truth: Floats) -> int:
    """Return who runs longest."""
    return int(np.argmax((truth > _RUNNING).sum(axis=1)))

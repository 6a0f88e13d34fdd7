"""Draw truth and figures with bars, what is protected when, and which collections cause noise."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from examples.household.analyst import Figures
from examples.household.meters import BEGIN, DAYS, FIRST_TICK, PER_DAY, TICKS
from examples.household.report import Released
from fugu.dataflows.policies.course import whose

_TRUE, _RELEASED, _BAND = "#2b2b2b", "#1f6f8b", "#bcdbe5"
_STRIP, _ADDED, _ALL = "#8aa6b8", "#d9822b", "#d3d9df"
_COLLECTIONS = {"electric-car": "#c0392b", "household": "#1f4e79"}
_LIMITS = -250, 1_050
_HOURS = np.arange(TICKS + 1) * 24 / PER_DAY
_TITLES = {
    "unicorn": "unicorn: noise where policies ask for it, exact elsewhere",
    "uniform": "uniform: noise for everything that a household may do, at every tick",
}


def save(released: Released, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    figure = Figure(figsize=(10.0, 9.2), dpi=150, layout="constrained")
    heights = (3.0, 3.0, 0.3 * len(released.protected), 1.8)
    *above, strip, noise = figure.subplots(4, 1, sharex=True, height_ratios=heights)
    for axes, (strategy, figures) in zip(above, released.by_strategy.items(), strict=True):
        _draw_figures(axes, released, figures)
        error = released.errors(strategy).mean()
        axes.set_title(f"{_TITLES[strategy]}; mean error {error:.0f} kW", loc="left", fontsize=10)
    _draw_strip(strip, released)
    _draw_noise(noise, released)
    noise.xaxis.set_major_locator(MultipleLocator(12))
    noise.xaxis.set_minor_locator(MultipleLocator(3))
    noise.xaxis.set_major_formatter(FuncFormatter(_clock))
    noise.set_xlim(0, 24 * DAYS)
    for axes in (*above, strip, noise):
        axes.grid(axis="x", color="#e9ecef", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    legend = partial(figure.legend, frameon=False, ncols=3, fontsize=9)
    legend(*above[0].get_legend_handles_labels(), loc="outside lower left")
    legend(*noise.get_legend_handles_labels(), loc="outside lower right")
    figure.savefig(path)


def _draw_figures(axes: Axes, released: Released, figures: Figures) -> None:
    lower, upper = figures.bars
    axes.stairs(upper, _HOURS, baseline=lower, fill=True, color=_BAND, label="95 % of the noise")
    axes.stairs(figures.values, _HOURS, baseline=None, color=_RELEASED, lw=1.0, label="released")
    middles = (_HOURS[:-1] + _HOURS[1:]) / 2
    axes.plot(middles, released.truth, color=_TRUE, lw=1.1, label="true")
    axes.set_ylim(*_LIMITS)
    axes.set_ylabel("kW, of all households")


def _draw_strip(axes: Axes, released: Released) -> None:
    for row, one in enumerate(released.protected):
        spans = [
            ((span.start - FIRST_TICK) * 24 / PER_DAY, span.ticks * 24 / PER_DAY)
            for span in one.occurrences
        ]
        added = one is released.protected[-1]
        axes.broken_barh(spans, (row - 0.32, 0.64), color=_ADDED if added else _STRIP)
    names = [one.name for one in released.protected]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_title("protected (orange: added on Wednesday at 8:00)", loc="left", fontsize=10)


def _draw_noise(axes: Axes, released: Released) -> None:
    found, query = released.noise, released.document.section.query
    one = float(query.resolution)
    hours = [(tick - FIRST_TICK) * 24 / PER_DAY for tick in [*found.starts, FIRST_TICK + TICKS]]
    axes.stairs(found.noise * one, hours, fill=True, color=_ALL, label="all together")
    for name, share in found.collections.items():
        keys = next(at.applies_to for at in released.document.section.collections if at.id == name)
        label = f"{name} ({whose(keys)}) alone"
        axes.stairs(share.alone * one, hours, color=_COLLECTIONS[name], lw=1.5, label=label)
    axes.set_ylim(0, found.most * one * 1.1)
    axes.set_ylabel("kW")
    axes.set_title(
        "expected noise by whose wish it is; unicorn has up to twice as much",
        loc="left",
        fontsize=10,
    )


def _clock(hours: float, _: object) -> str:
    """The day at midnight, else the time."""
    at = BEGIN + timedelta(hours=hours)
    return f"{at:%a %d %b}" if at.hour == 0 else f"{at:%H:%M}"

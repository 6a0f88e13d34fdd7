"""Truth against what was released, and against what the analyst makes of it."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from examples.clickstream.report import SMALLEST_SHARE, Shares

_RELEASED, _CORRECTED, _MISSED = "#d9822b", "#1f4e79", "#c0392b"
_SMALLEST_DRAWN = SMALLEST_SHARE / 2.0
_TICKS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


def save(shares: Shares, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    figure = Figure(figsize=(8.4, 6.0), dpi=150, layout="constrained")
    axes = figure.subplots()
    drawn = np.flatnonzero(shares.truth >= _SMALLEST_DRAWN)
    largest = shares.truth.max() * 1.4
    _frame(axes, largest)
    axes.plot(
        shares.truth[drawn],
        shares.released[drawn],
        "o",
        color=_RELEASED,
        fillstyle="none",
        markersize=5,
        label="released, as counted",
    )
    for held, colour, label in (
        (True, _CORRECTED, "corrected, 95 % bars"),
        (False, _MISSED, "corrected, the bar misses the truth"),
    ):
        pages = drawn[shares.held[drawn] == held]
        corrected = shares.estimate.shares[pages]
        axes.errorbar(
            shares.truth[pages],
            corrected,
            yerr=np.abs(shares.bars[pages].T - corrected),
            fmt="o",
            color=colour,
            markersize=4,
            elinewidth=1.1,
            label=label,
        )
    axes.legend(frameon=False, loc="lower right")
    figure.suptitle(
        f"{shares.clicks:,} clicks on {len(shares.pages):,} pages: {shares.verdict()}",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    figure.savefig(path)


def _frame(axes: Axes, largest: float) -> None:
    """Axes, the line of equal shares, and where pages are too rare for their bars."""
    axes.set(xscale="log", yscale="log")
    axes.set(xlim=(_SMALLEST_DRAWN * 0.93, largest), ylim=(_SMALLEST_DRAWN * 0.45, largest))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(_TICKS))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda share, _: f"{100.0 * share:g} %")
    axes.axline((0.01, 0.01), (0.1, 0.1), color="#9aa5b1", linewidth=1.2, zorder=1)
    axes.axvspan(_SMALLEST_DRAWN * 0.9, SMALLEST_SHARE, color="#eef1f4", zorder=0)
    axes.annotate(
        "too rare for\ntheir bars",
        (SMALLEST_SHARE * 0.97, largest * 0.9),
        ha="right",
        va="top",
        color="#5d6b78",
    )
    axes.grid(color="#e5e8ec", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("true share of clicks")
    axes.set_ylabel("share that the sanitized topic tells")
    axes.spines[["top", "right"]].set_visible(False)

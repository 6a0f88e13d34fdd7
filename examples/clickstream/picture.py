"""Truth against what was released, and against what the analyst makes of it."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from examples.clickstream.report import SMALLEST_SHARE, Shares

_CORRECTED, _RELEASED, _MISSED = "#1f4e79", "#d9822b", "#c0392b"
_SMALLEST_DRAWN = 0.0008


def save(shares: Shares, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    drawn = np.flatnonzero(shares.truth >= _SMALLEST_DRAWN)
    figure = Figure(figsize=(8.0, 6.0), dpi=150, layout="constrained")
    axes = figure.subplots()
    limits = np.array([_SMALLEST_DRAWN * 0.6, shares.truth.max() * 1.6])
    axes.plot(limits, limits, color="#999999", linewidth=1.0, zorder=1)
    axes.scatter(
        shares.truth[drawn],
        shares.released[drawn],
        s=26,
        facecolors="none",
        edgecolors=_RELEASED,
        label="released, as counted",
        zorder=2,
    )
    for held, colour, label in (
        (True, _CORRECTED, "corrected, with 95 % bars"),
        (False, _MISSED, "corrected, and the bar misses the truth"),
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
            linewidth=1.0,
            label=label,
            zorder=3,
        )
    axes.axvline(SMALLEST_SHARE, color="#bbbbbb", linewidth=0.8, linestyle=":")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
    axes.set_xlabel("true share of clicks")
    axes.set_ylabel("share that the sanitized topic tells")
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)

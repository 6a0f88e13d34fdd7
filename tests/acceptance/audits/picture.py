"""Draw claimed, exact and proved side by side, as shares of the claim."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tests.acceptance.audits.found import RUNS
from tests.acceptance.audits.summary import Summary, share

_CLAIMED, _PROVED, _BROKEN, _EXACT = "#d5dbe3", "#1f4e79", "#c0392b", "#444444"
_WIDEST = 2.0


def save(shown: Sequence[Summary], path: Path) -> None:
    """Write the picture; shares above 2 are drawn at 2, with their number."""
    figure = Figure(figsize=(9.0, 1.8 + 0.21 * len(shown)), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    rows = range(len(shown))
    axes.barh(rows, [1.0] * len(shown), height=0.66, color=_CLAIMED, label="claimed")
    for row, one in enumerate(shown):
        worst = share(None if one.worst is None else one.worst.exact, one.worst)
        proved = share(None if one.strongest is None else one.strongest.proved, one.strongest)
        colour = _BROKEN if one.broken else _PROVED
        if proved is not None:
            axes.hlines(row, 0.0, min(proved, _WIDEST), color=colour, linewidth=2.0)
            label = "proved by attacks, at least" if row == _first(shown, "strongest") else None
            axes.scatter(min(proved, _WIDEST), row, color=colour, s=26, zorder=3, label=label)
        if worst is not None:
            label = "exact, over all neighbours" if row == _first(shown, "worst") else None
            place = min(worst, _WIDEST)
            axes.scatter(place, row, marker="|", color=_EXACT, s=110, zorder=4, label=label)
            if worst > _WIDEST:
                axes.annotate(f"{worst:.1f}", (place, row), (6, -3), textcoords="offset points")
    axes.set_yticks(rows, [f"{one.kind}: {one.notion}" for one in shown], fontsize=8)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_xlim(0.0, _WIDEST + 0.2 if any(one.broken for one in shown) else 1.1)
    axes.set_xlabel("share of the nats that are claimed")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"fugu audit of every kind, {RUNS:,} runs of each input", loc="left")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path)


def _first(shown: Sequence[Summary], figure: str) -> int:
    return next(row for row, one in enumerate(shown) if getattr(one, figure) is not None)

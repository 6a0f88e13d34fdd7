"""How errors are spread: a box for each strategy, a panel for each epsilon.

A box holds the middle half of all ticks, groups and runs, its whiskers nine tenths, with a line at
the median and a point at the mean. Figures without any error stand at 0, left of where the
logarithmic scale begins.
"""

from collections.abc import Mapping, Sequence
from math import floor, log10

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator

from fugu.dataflows.offline.evaluation.aggregates.policy_grid import UNDER_POLICIES
from fugu.dataflows.offline.evaluation.aggregates.report import GUESS, AggregateReport, AggregateRow
from fugu.dataflows.offline.evaluation.aggregates.utility import Spread

_OWN, _UNDER_POLICIES, _IN_WINDOWS = "#1f6f8b", "#a8cfdb", "#d9d9d9"
_LINES, _GUESS = "#222222", "#c0392b"
_ROW, _AROUND = 0.27, 1.3
"""Inches."""


def height(report: AggregateReport) -> float:
    """So that every strategy can be read, in inches."""
    return _AROUND + _ROW * len(_order(report))


def draw(figure: SubFigure, report: AggregateReport) -> None:
    """Strategies stand in the order of their medians at the pipeline's epsilon."""
    epsilons = sorted({row.candidate.epsilon for row in report.rows})
    order, own = _order(report), report.own
    places = figure.subplots(1, len(epsilons), sharex=True, sharey=True, squeeze=False)[0]
    for axes, epsilon in zip(places, epsilons, strict=True):
        rows = [row for row in report.rows if row.candidate.epsilon == epsilon]
        for row in rows:
            _draw_box(axes, row, order[row.candidate.kind], _colour(row, report))
        axes.axvline(report.guess.spread.median, color=_GUESS, ls="--", lw=1.0)
        configured = (
            ", as configured" if own.configured and own.candidate.epsilon == epsilon else ""
        )
        axes.set_title(f"epsilon {epsilon:g}{configured}", fontsize="medium", loc="left")
        axes.set_xlabel("absolute error")
        axes.grid(axis="x", color="#e5e8ec", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    first = places[0]
    _scale(first, [row.utility.errors.spread for row in report.rows])
    first.set_yticks(list(order.values()), list(order))
    first.set_ylim(len(order) - 0.4, -0.6)
    for axes in places:
        axes.tick_params(axis="y", length=0)
    figure.legend(handles=_legend(report), loc="outside lower center", frameon=False, ncols=2)


def _order(report: AggregateReport) -> Mapping[str, int]:
    """The place of every strategy; last are those that do not take the pipeline's epsilon."""
    here: dict[str, tuple[float, float]] = {}
    others: dict[str, tuple[float, float]] = {}
    for row in report.rows:
        errors, kind = row.utility.errors, row.candidate.kind
        same = row.candidate.epsilon == report.own.candidate.epsilon
        (here if same else others)[kind] = (errors.spread.median, errors.absolute.value)
    kinds = dict.fromkeys([*sorted(here, key=lambda kind: here[kind]), *others])
    return {kind: place for place, kind in enumerate(kinds)}


def _colour(row: AggregateRow, report: AggregateReport) -> str:
    if row.candidate.kind == report.pipeline.operator.kind:
        return _OWN
    return _UNDER_POLICIES if row.candidate.kind in UNDER_POLICIES else _IN_WINDOWS


def _draw_box(axes: Axes, row: AggregateRow, place: int, colour: str) -> None:
    spread = row.utility.errors.spread
    axes.bxp(
        [
            {
                "whislo": spread.low,
                "q1": spread.lower,
                "med": spread.median,
                "q3": spread.upper,
                "whishi": spread.high,
                "mean": row.utility.errors.absolute.value,
            }
        ],
        positions=[place],
        widths=0.62,
        orientation="horizontal",
        showfliers=False,
        showmeans=True,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": colour, "linewidth": 0.8},
        medianprops={"color": _LINES, "linewidth": 1.6},
        whiskerprops={"linewidth": 0.8},
        capprops={"linewidth": 0.8},
        meanprops={
            "marker": "o",
            "markersize": 3.5,
            "markerfacecolor": "white",
            "markeredgecolor": _LINES,
        },
    )


def _scale(axes: Axes, spreads: Sequence[Spread]) -> None:
    """Logarithmic from the smallest quantile on that is not 0."""
    found = [value for spread in spreads for value in spread.document().values()]
    positive = [value for value in found if value > 0.0]
    if len(positive) == len(found):
        axes.set_xscale("log")
    else:
        begin = 10.0 ** floor(log10(min(positive, default=1.0)))
        axes.set_xscale("symlog", linthresh=begin, linscale=0.4)
        axes.set_xlim(left=-begin / 10.0)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,g}"))


def _legend(report: AggregateReport) -> list[Artist]:
    [window] = {row.candidate.window for row in report.rows}
    return [
        Patch(facecolor=_OWN, edgecolor=_LINES, label="the pipeline's strategy"),
        Patch(facecolor=_UNDER_POLICIES, edgecolor=_LINES, label="others under its policies"),
        Patch(
            facecolor=_IN_WINDOWS,
            edgecolor=_LINES,
            label=f"those that hide everything in any {window:,} ticks",
        ),
        Line2D([], [], color=_GUESS, linestyle="--", label=f"{GUESS} (true data), its median"),
    ]

"""The comparison as bars: fastest on top, with the range of all rounds."""

from math import floor, log10
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.comparison.contestants import Contestant, Fugu
from bench.comparison.rounds import Result, Results

_FUGU, _BARE, _PEER = "#2a6f97", "#bbbbbb", "#e09f3e"


def draw(results: Results, path: Path) -> None:
    """Records/s on a logarithmic scale, without Fugu's other operators."""
    shown = [
        one
        for one in results.results
        if one.speeds
        and (not isinstance(one.contestant, Fugu) or one.contestant.operator["kind"] == "crr")
    ]
    shown.sort(key=lambda one: one.middle("records_per_second"))
    figure = Figure(figsize=(9.6, 1.4 + 0.32 * len(shown)), dpi=150, layout="constrained")
    axes = figure.subplots()
    for place, one in enumerate(shown):
        _bar(axes, place, one)
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [one.contestant.title for one in shown])
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.set_xlabel("records/s, one process (logarithmic; line: range of all rounds)")
    slowest = shown[0].middle("records_per_second")
    fastest = max(one.ends("records_per_second")[1] for one in shown)
    axes.set_xlim(10 ** floor(log10(slowest)) / 2, fastest * 2)
    axes.xaxis.set_major_formatter(lambda rate, _: f"{rate:,.0f}")
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    settings = results.settings
    axes.set_title(
        f"The same private release of {settings.users:,} users' records; grey: no release at all",
        loc="left",
        fontsize=11,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _bar(axes: Axes, place: int, one: Result) -> None:
    middle = one.middle("records_per_second")
    slowest, fastest = one.ends("records_per_second")
    axes.barh(place, middle, color=_color(one.contestant), height=0.7)
    axes.plot([slowest, fastest], [place, place], color="black", linewidth=1.2)
    axes.text(fastest * 1.04, place, f"{middle:,.0f}", va="center", fontsize=9)


def _color(contestant: Contestant) -> str:
    if isinstance(contestant, Fugu):
        return _FUGU
    return _PEER if contestant.checked else _BARE

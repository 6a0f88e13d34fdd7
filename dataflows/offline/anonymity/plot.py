"""Draw whom attacks single out, and what is lost against K."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from fugu.dataflows.offline.anonymity.attacks import STAGES, AttackReport
from fugu.dataflows.offline.anonymity.losses import Losses, LossReport, by_location, distance

COLOURS = ("#c0392b", "#d9822b", "#2e8b57", "#1f4e79", "#7b4fa3", "#444444")


def save_attacks(report: AttackReport, path: Path) -> None:
    """Draw bars of people: before, after stage 1, and in the release."""
    figure = Figure(figsize=(8.0, 4.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / len(STAGES)
    for number, stage in enumerate(STAGES):
        places = [place + (number - 1) * width for place in range(len(report.hits))]
        people = [hits.people[number] for hits in report.hits.values()]
        bars = axes.bar(places, people, width, label=stage, color=COLOURS[number])
        axes.bar_label(bars, [f"{count:,}" for count in people], fontsize=8, padding=2)
    axes.set_xticks(range(len(report.hits)), list(report.hits))
    axes.set_ylabel("people whom the attack singles out")
    axes.set_ylim(0, max(1, 1.15 * max(max(hits.people) for hits in report.hits.values())))
    axes.legend(frameon=False)
    figure.suptitle(
        f"{report.pipeline}: {report.people:,} people in {report.windows:,} windows; "
        f"{report.known_points} points are known",
        x=0.01,
        ha="left",
    )
    figure.savefig(path)


def save_losses(report: LossReport, path: Path) -> None:
    """Draw a line for each rho over K: points, records, and how wrong shares become."""
    figure = Figure(figsize=(10.0, 7.0), dpi=150, layout="constrained")
    panels: list[tuple[str, Any]] = [
        ("points kept, per cent", lambda one: _percent(one.kept_points, one.points)),
        ("records kept, per cent", lambda one: _percent(one.kept_records, one.records)),
        ("shares of places told wrong, per cent", _places),
        ("shares of categories told wrong, per cent", _categories),
    ]
    for number, (title, measure) in enumerate(panels, start=1):
        _draw(figure.add_subplot(2, 2, number), report, title, measure)
    figure.axes[0].legend(frameon=False)
    figure.suptitle(f"{report.pipeline}: what is lost against K and rho", x=0.01, ha="left")
    figure.savefig(path)


def _draw(axes: Axes, report: LossReport, title: str, measure: Any) -> None:
    for number, known in enumerate(dict.fromkeys(rho for _, rho in report.losses)):
        line = [(k, measure(one)) for (k, rho), one in report.losses.items() if rho == known]
        told = [(k, value) for k, value in line if value is not None]
        colour = COLOURS[::-1][number % len(COLOURS)]
        xs, ys = [k for k, _ in told], [value for _, value in told]
        axes.plot(xs, ys, "o-", color=colour, label=f"rho = {known}")
        for k, value in told:
            if (k, known) == report.own:
                axes.plot(k, value, "o", color="#222222", fillstyle="none", ms=11)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(sorted({k for k, _ in report.losses})))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda at, _: f"{at:g}")
    axes.set_ylim(0.0, 1.05 * max(1.0, axes.get_ylim()[1]))
    axes.set(xlabel="K")
    axes.set_title(title, fontsize="medium")


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _places(losses: Losses) -> float | None:
    share = distance(*map(by_location, losses.places))
    return None if share is None else 100 * share


def _categories(losses: Losses) -> float | None:
    share = distance(*losses.values)
    return None if share is None else 100 * share

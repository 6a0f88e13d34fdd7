"""Draw errors as lines, and the pipeline's own strategy and the best other one over time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.simulated import SimulatedRow
from fugu.dataflows.offline.evaluation.aggregates.utility import BARS, AggregateUtility, Truth
from fugu.dataflows.offline.evaluation.plot import DARK, Block, Line, Lines, colours_of, save
from fugu.dataflows.offline.evaluation.report import Report, Row
from fugu.dataflows.policies.wording import counted

_LEVEL = "constant guess (true data)"
_LINES_HEIGHT, _COURSE_HEIGHT = 3.9, 2.3
"""Inches."""


@dataclass(frozen=True)
class Course:
    """Follow the largest group as it is, and as it is released, with a band around it."""

    label: str
    title: str
    utility: AggregateUtility
    colour: str
    summed: Summed
    truth: Truth
    band: tuple[float, str]

    def draw(self, axes: Axes) -> None:
        """Draw both over time, with a legend of their own."""
        operator, series = self.summed.operator, self.utility.series
        ticks, group = operator.in_ticks(), self.truth.largest_group
        starts = [ticks.end(tick - 1) for tick in self.summed.numbers]
        times = np.array(starts, dtype="datetime64[ms]")
        true = self.truth.in_ones(self.truth.figures[:, group])
        axes.plot(times, true, color=DARK, lw=1.0, label="true figure")
        label, shade = f"{self.label}, one run", self.colour
        axes.step(times, series.values, where="post", color=shade, lw=1.4, label=label)
        if not np.isnan(series.noise).all():
            deviations, what = self.band
            low, high = (series.values + k * deviations * series.noise for k in (-1.0, 1.0))
            label = f"± {deviations:g} {what}"
            said = ~np.isnan(series.noise)
            axes.fill_between(
                times, low, high, where=said, step="post", color=(shade, 0.18), lw=0.0, label=label
            )
        key = operator.figures().keys[group].decode()
        name = f"the largest group, {key}" if key else "the only group"
        axes.set_title(f"{self.title}: {name}", fontsize="medium", loc="left")
        axes.legend(edgecolor="none", fontsize="small", ncols=3, loc="upper right")


@dataclass(frozen=True)
class Shown:
    """Place a row in a picture; a `rival` may be followed beside the pipeline's own row."""

    label: str
    epsilon: float
    window: int
    utility: AggregateUtility
    configured: bool = False
    rival: bool = True
    style: str = "-"

    @classmethod
    def of(cls, row: Row[AggregateUtility], own: str, windowed: bool = True) -> "Shown":
        """Show a candidate; those of the pipeline's own kind are no rivals of it."""
        one, other = row.candidate, row.candidate.kind != own
        window = one.window or 0 if windowed else 0
        style = "--" if other and not windowed else "-"
        return cls(one.name, one.epsilon, window, row.utility, row.configured, other, style)

    @property
    def error(self) -> float:
        """Return the mean absolute error."""
        return self.utility.errors.absolute.value


def save_windows(
    path: Path, report: Report[AggregateUtility], summed: Summed, truth: Truth
) -> None:
    """Draw errors by window, in a panel for each epsilon, or by epsilon."""
    own = summed.operator.kind
    shown = [Shown.of(row, own) for row in report.rows]
    if len({one.window for one in shown}) > 1:
        panels = [
            _lines([one for one in shown if one.epsilon == epsilon], truth, by_window=True)
            for epsilon in sorted({one.epsilon for one in shown})
        ]
    else:
        panels = [_lines(shown, truth, f"epsilon, in any {shown[0].window:,} ticks in a row")]
    window = f" in {report.own.candidate.window} ticks"
    followed = courses(shown, summed, truth, {one.label: window for one in shown})
    save_over_time(path, report, summed, Block([panels], _LINES_HEIGHT), followed)


def save_real_time(
    path: Path, report: Report[AggregateUtility], summed: Summed, truth: Truth
) -> None:
    """Draw errors by epsilon; simulations that look at the truth are not followed."""
    own = summed.operator.kind
    shown = [Shown.of(row, own, windowed=False) for row in report.rows]
    simulated = [one for one in report.beside if isinstance(one, SimulatedRow)]
    for one in simulated:
        honest = not (one.rival.uses_true_data or one.rival.offline)
        shown.append(Shown(one.name, one.epsilon or 0.0, 0, one.utility, False, honest, "-."))
    panel = _lines(shown, truth, "epsilon, for everything a user contributes")
    followed = courses(shown, summed, truth, {}, (BARS, "standard errors"))
    save_over_time(path, report, summed, Block([[panel]], _LINES_HEIGHT), followed)


def courses(
    shown: Sequence[Shown],
    summed: Summed,
    truth: Truth,
    where: dict[str, str],
    band: tuple[float, str] = (2.0, "standard errors of its noise"),
) -> Iterator[Course]:
    """Follow the pipeline's own row and the best rival of the same epsilon."""
    own = next((one for one in shown if one.configured), shown[0])
    promise = own.epsilon, own.window
    same = [one for one in shown if one.rival and (one.epsilon, one.window) == promise]
    colours = colours_of(one.label for one in shown)
    for one in (own, *sorted(same, key=lambda one: one.error)[:1]):
        title = f"{one.label}, epsilon {one.epsilon:g}{where.get(one.label, '')}"
        colour = colours[one.label]
        yield Course(one.label, title, one.utility, colour, summed, truth, band)


def save_over_time(
    path: Path,
    report: Report[AggregateUtility],
    summed: Summed,
    above: Block,
    followed: Iterator[Course],
) -> None:
    """Write errors, and below them the largest group over time."""
    below = [[course] for course in followed]
    title = (
        f"{report.pipeline}: {counted(summed.ticks, 'tick')} of "
        f"{counted(summed.operator.group_count, 'group')}, "
        f"{counted(report.sample.stream_count, 'user')}, runs: {report.runs}"
    )
    save(path, title, [above, Block(below, _COURSE_HEIGHT * len(below), shared=False)])


def _lines(
    shown: Sequence[Shown], truth: Truth, axis: str = "window, in ticks", by_window: bool = False
) -> Lines:
    def place(one: Shown) -> float:
        return one.window if by_window else one.epsilon

    lines = []
    for label, colour in colours_of(one.label for one in shown).items():
        rows = sorted((one for one in shown if one.label == label), key=place)
        points = [(place(one), one.utility.errors.absolute) for one in rows]
        own = next((place(one) for one in rows if one.configured), None)
        lines.append(Line(label, colour, points, rows[0].style, own))
    title = f"epsilon {shown[0].epsilon:g}" if by_window else ""
    level = _LEVEL, truth.constant_guess().absolute.value
    return Lines(lines, axis, "mean absolute error (MAE)", title, True, level)

"""Print what attacks find, and what is lost."""

from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fugu.dataflows.offline.anonymity.attacks import ATTACKS, STAGES, AttackReport
from fugu.dataflows.offline.anonymity.losses import (
    REASONS,
    Losses,
    LossReport,
    by_location,
    distance,
)

_INSIDE = (
    "All of this is computed from true values: it belongs where the sample is. Keep it inside."
)

_LEFT = ("windows", "records", "points", "places told wrong", "categories told wrong")


def print_attacks(console: Console, report: AttackReport) -> None:
    """Print a row for each attack: people who are singled out, and by how much knowledge."""
    console.print(
        f"\n[bold]{report.pipeline}[/bold]: {report.people:,} people in "
        f"{report.windows:,} windows ({report.source}); {report.suppressed:,} are suppressed\n\n"
        f"[bold]People whom an attack singles out[/bold] by {report.known_points:,} of their "
        "points at most, and how many such sub-trajectories do it"
    )
    table = Table("attack", "succeeds where", box=SIMPLE_HEAD)
    for stage in STAGES:
        table.add_column(stage, justify="right", no_wrap=True)
    for name, hits in report.hits.items():
        cells = zip(hits.people, hits.knowledge, strict=True)
        told = [f"{people:,} by {knowledge:,}" if people else "none" for people, knowledge in cells]
        table.add_row(name, ATTACKS[name], *told)
    console.print(table)
    good = report.sound and not report.broken
    colour = "green" if good else "red"
    console.print(f"[{colour}]{report.verdict}[/{colour}]", soft_wrap=True)


def print_losses(console: Console, report: LossReport) -> None:
    """Print a row for each pair of K and rho."""
    first = next(iter(report.losses.values()))
    console.print(
        f"\n[bold]{report.pipeline}[/bold]: {first.points:,} points of {first.records:,} records "
        f"in {first.windows:,} windows of {report.path}\n"
    )
    console.print("[bold]What is left[/bold]")
    console.print(_table(report, _LEFT, _left))
    console.print("[bold]Why points are removed[/bold], in per cent of all points")
    console.print(_table(report, REASONS, _removed))
    lifted = first.levels / first.records
    for note in (
        "* is the pipeline as its file has it.",
        "suppression is stage 1; the repair then removes points for too few people (support), too "
        "large a share of a category (confidence), and all records of one person (correlated). "
        "Points of suppressed windows are not among them.",
        "a window is suppressed with too few people (min_people), too many sub-trajectories, or a "
        "category that more than sigma of all records have.",
        "a larger K may leave more points: stage 1 then removes rare points at once, instead of "
        "common ones that occur beside them.",
        "told wrong: the share of points (of records) that would have to move to another place "
        "(category) for the released shares to be the true ones: what a count of places by share "
        "is off.",
        f"sensitive values are generalised by {lifted:.2f} levels on average, whatever K and rho.",
        _INSIDE,
    ):
        console.print(f"- {note}")


def _table(
    report: LossReport, headings: Sequence[str], cells: Callable[[Losses], list[str]]
) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for heading in ("K", "rho", *headings):
        table.add_column(heading, justify="right")
    for (people, known), losses in report.losses.items():
        mark = " *" if (people, known) == report.own else ""
        table.add_row(f"{people}{mark}", str(known), *cells(losses))
    return table


def _left(losses: Losses) -> list[str]:
    return [
        f"{losses.windows - losses.suppressed:,} of {losses.windows:,}",
        _percent(losses.kept_records, losses.records),
        _percent(losses.kept_points, losses.points),
        _told(distance(*map(by_location, losses.places))),
        _told(distance(*losses.values)),
    ]


def _removed(losses: Losses) -> list[str]:
    return [_percent(losses.removed[reason], losses.points) for reason in REASONS]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _told(share: float | None) -> str:
    return "nothing" if share is None else f"{100 * share:.1f} %"

"""Watch running pipelines in a terminal."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fugu.dataflows.commands.arguments import AsJson, PipelineArguments
from fugu.dataflows.commands.output import Terminal, print_json
from fugu.dataflows.monitoring.scraped import Asked, Figures

_COLOURS = {"ok": "green", "degraded": "yellow", "unavailable": "red", "away": "red"}
_NEARLY_SPENT = "9"
_MOST_REASONS = 3


def top(
    pipelines: PipelineArguments,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look twice, print, and end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Watch running pipelines: records, lag, times, dead letters, budgets; from their metrics.

    Each pipeline file says by `metrics:` where its numbers are served. Kafka is not asked. With
    --json one document is printed for each look, on one line unless it is the only one.
    """
    console = Terminal()
    looks = _looks([Asked(file) for file in pipelines], every)
    next(looks)  # rates need a look before
    if once:
        figures = next(looks)
        if as_json:
            print_json({"pipelines": [asdict(one) for one in figures]})
        else:
            console.print(view(figures))
        return
    if as_json:
        for figures in looks:
            console.print_json(data={"pipelines": [asdict(one) for one in figures]}, indent=None)
    with Live(console=console, screen=console.is_terminal, auto_refresh=False) as live:
        for figures in looks:
            live.update(view(figures), refresh=True)


def _looks(asked: Sequence[Asked], every: float) -> Iterator[list[Figures]]:
    while True:
        yield [one.figures() for one in asked]
        time.sleep(every)


def view(figures: Sequence[Figures]) -> RenderableType:
    """Return what pipelines do, what they have done so far, and what is to be acted on."""
    now, sofar = _table("status", "in/s", "out/s", "lag", "epoch", "99 % within"), _table()
    for column in ("kind", "released up to", "budgets", "dead letters"):
        sofar.add_column(column, overflow="fold")
    for one in figures:
        now.add_row(
            one.pipeline,
            Text(one.status, _COLOURS.get(one.status, "")),
            _number(one.records_in),
            _number(one.releases),
            _number(one.lag),
            _seconds(one.last_epoch_seconds),
            _seconds(one.late_seconds),
        )
        released = _moment(one.event_time)
        sofar.add_row(one.pipeline, one.kind or "-", released, _budgets(one), _refused(one))
    told = [Text(f"{one.pipeline}: {text}", "yellow") for one in figures for text in one.reasons]
    when = Text(f"fugu top, {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC", "dim")
    return Group(when, "", now, "", sofar, "", *told)


def _table(*numbers: str) -> Table:
    """Return a table of pipelines, with these columns."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("pipeline", overflow="fold")
    for column in numbers:
        table.add_column(column, justify="left" if column == "status" else "right", no_wrap=True)
    return table


def _number(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return "> 120 s" if seconds == float("inf") else f"{seconds:.3g} s"


def _moment(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.0f} s"


def _budgets(one: Figures) -> str:
    """Return how many streams there are, and how many have little or nothing left."""
    if one.streams is None:
        return "-"
    gone = one.budgets.get("exhausted", 0)
    little = sum(count for spent, count in one.budgets.items() if spent == _NEARLY_SPENT)
    told = [f"{gone:,} spent"] * bool(gone) + [f"{little:,} nearly"] * bool(little)
    return "\n".join([f"{one.streams:,} streams", *told])


def _refused(one: Figures) -> str:
    """Return the most frequent reasons."""
    if not one.dead_letters:
        return "none"
    shown = [f"{count:,} {reason}" for reason, count in one.dead_letters.items()]
    more = sum([*one.dead_letters.values()][_MOST_REASONS:])
    return "\n".join(shown[:_MOST_REASONS] + [f"{more:,} others"] * bool(more))

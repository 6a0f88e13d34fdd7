"""Print what a policy document hides over a span of days."""

from collections.abc import Iterator
from datetime import date, timedelta
from itertools import groupby, zip_longest

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fugu.dataflows.policies.course import OF_STRATEGIES, Course, Stretch, about, duration, in_unit

_MOST_DAYS = 31

Row = tuple[str, str, str, str, str]


def print_course(console: Console, course: Course, name: str) -> None:
    """Print all stretches in which something is hidden, by days; days that are alike together."""
    document = course.document
    tick = duration(document.policies.tick_milliseconds)
    whole = in_unit(document.policies.largest_sensitivity, document.section.query)
    for line in (
        f"\n[bold]{name}[/bold], {course.first_day} to {course.last_day}, by the clock of "
        f"{document.section.grid.zone}; a tick is {tick}",
        "- Δ_t (sensitivity): by how much one individual can change a tick; without policies "
        f"{whole} (Δ_Q)",
        "- δ: how many ticks of an interval that is open can differ; the most",
        "- noise: the expected one of a figure, Δ_t δ / epsilon: ticks that can differ share "
        f"epsilon ({document.section.epsilon:g}) evenly; {OF_STRATEGIES}",
    ):
        console.print(line, highlight=False)
    table = Table(
        box=SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, show_edge=False, pad_edge=False
    )
    table.add_column("day", no_wrap=True)
    table.add_column("hours", no_wrap=True)
    table.add_column("hidden")
    table.add_column("Δ_t", justify="right", no_wrap=True)
    table.add_column("δ", justify="right", no_wrap=True)
    table.add_column("noise", justify="right", no_wrap=True)
    days = _alike(course)
    for first, last, rows in days[:_MOST_DAYS]:
        names = [f"{first:%a %m-%d}", f"to {last:%a %m-%d}" if last != first else ""]
        if len(rows) == 1:
            names = ["\n".join(filter(None, names))]
        for name, row in zip_longest(names, rows, fillvalue=""):
            table.add_row(name, *row)
        table.add_section()
    if days:
        console.print()
        console.print(table)
    if days[_MOST_DAYS:]:
        console.print(
            f"There is more from {days[_MOST_DAYS][0]} on: write --from, or --json for everything."
        )


def _alike(course: Course) -> list[tuple[date, date, list[Row]]]:
    """Return the rows of days on which something begins to be hidden; join equal neighbours."""
    hidden = [stretch for stretch in course.stretches if stretch.hidden]
    found: list[tuple[date, date, list[Row]]] = []
    for day, stretches in groupby(hidden, lambda one: course.document.begin(one.start).date()):
        rows = [_row(stretch, course) for stretch in stretches]
        if found and found[-1][1:] == (day - timedelta(1), rows):
            found[-1] = (found[-1][0], day, rows)
        else:
            found.append((day, day, rows))
    return found


def _row(stretch: Stretch, course: Course) -> Row:
    """Return the hours of a policy, with a `+1` if they end on the next day, and its thresholds."""
    begin = course.document.begin(stretch.start)
    end = course.document.begin(stretch.end + 1)
    later = (end.date() - begin.date()).days
    most = max(stretch.relevance.intervals, key=lambda one: one.affected)
    return (
        f"{begin:%H:%M}–{end:%H:%M}" + (f" +{later}" if later else ""),
        "\n".join(_whose(stretch, course)),
        in_unit(stretch.relevance.sensitivity, course.document.section.query),
        f"{most.affected} of {most.end - most.start + 1}",
        about(course.attribution.at(stretch.start)[0], course.document.section.query),
    )


def _whose(stretch: Stretch, course: Course) -> Iterator[str]:
    for collection in course.document.policies.collections:
        policies = [one.policy for one in stretch.hidden if one.collection == collection.id]
        if policies:
            yield f"{collection.id}: {', '.join(policies)}"

"""Show what a policy document hides when, and how much noise that takes, and for whose wish."""

from datetime import date, datetime
from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.arguments import AsJson, DocumentPath, Plot
from fugu.dataflows.commands.output import Terminal, print_json, require_picture
from fugu.dataflows.policies.course import Course, Hidden, Stretch, first_day
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.fields import require_known
from fugu.dataflows.policies.remarks import noise_data, print_noise
from fugu.dataflows.policies.tables import print_course
from fugu.operators.swellfish.attribution import Improvement, improvement

_WEEK = 7
_MOST_TICKS = 1_000_000
"""Which take a few seconds."""


def show(
    path: DocumentPath,
    from_: Annotated[
        datetime | None,
        typer.Option(
            "--from", formats=["%Y-%m-%d"], metavar="DAY", help="Else that of the first occurrence."
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="DAY", help="The last day; else a week."),
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Show what is hidden when, and how much noise that takes, and for whose wish.

    For every stretch of time: who hides what, the sensitivity of a tick, and the largest delta of
    an interval, that is, how many of its ticks can differ. For every collection and policy: the
    noise where it is relevant, and what would be left without it.
    """
    require_picture(plot)
    course = _course(PolicyDocument.read(path), from_, until)
    found = _improvement(course)
    if plot is not None:
        from fugu.dataflows.policies.plot import save

        save(course, path.name, plot)
    if as_json:
        print_json(_data(path, course, found))
    else:
        console = Terminal()
        print_course(console, course, path.name)
        print_noise(console, course.document, course.attribution, found)


def _course(document: PolicyDocument, from_: datetime | None, until: datetime | None) -> Course:
    first = _known_day("--from", from_) or first_day(document)
    last = _known_day("--until", until)
    days = _WEEK if last is None else (last - first).days + 1
    if days < 1:
        raise ConfigurationError(f"--until: is before {first}, the first day; write a later one")
    course = Course(document, first, days)
    ticks = course.end - course.start + 1
    if ticks > _MOST_TICKS:
        raise ConfigurationError(
            f"--until: {ticks:,} ticks are too many, {_MOST_TICKS:,} are the most; write an "
            "earlier day"
        )
    return course


def _known_day(name: str, moment: datetime | None) -> date | None:
    if moment is None:
        return None
    try:
        require_known(moment.date())
    except ValueError as error:
        raise ConfigurationError(f"{name}: {error}") from None
    return moment.date()


def _improvement(course: Course) -> Improvement | None:
    """Return how much noise policies save; None where nothing is hidden."""
    if not course.hidden:
        return None
    return improvement(course.document.policies, course.start, course.end)


def _data(path: Path, course: Course, found: Improvement | None) -> dict[str, object]:
    document = course.document
    return {
        "document": str(path),
        "from": course.first_day,
        "until": course.last_day,
        "zone": document.section.grid.zone,
        "tick_milliseconds": document.policies.tick_milliseconds,
        "sensitivity_without_policies": _number(document.policies.largest_sensitivity, document),
        "hidden": [_hidden(one, document) for one in course.hidden],
        "stretches": [_stretch(stretch, course) for stretch in course.stretches],
        "noise": noise_data(document, course.attribution),
        "improvement": None
        if found is None
        else {
            "window": found.longest,
            "sensitivity": found.sensitivity,
            "affected": found.affected(found.longest),
            "both": found.both(found.longest),
            "exact": found.exact,
        },
    }


def _hidden(one: Hidden, document: PolicyDocument) -> dict[str, object]:
    occurrence = one.occurrence
    return {
        "policy": f"{one.collection}/{one.policy}",
        **_span(occurrence.start, occurrence.end, document),
        "theta": [_number(threshold, document) for threshold in occurrence.thresholds],
    }


def _stretch(stretch: Stretch, course: Course) -> dict[str, object]:
    document = course.document
    noise, alone = course.attribution.at(stretch.start)
    return {
        **_span(stretch.start, stretch.end, document),
        "policies": [f"{one.collection}/{one.policy}" for one in stretch.hidden],
        "sensitivity": _number(stretch.relevance.sensitivity, document),
        "noise": _number(noise, document),
        "noise_alone": {name: _number(one, document) for name, one in alone.items()},
        "intervals": [
            {**_span(one.start, one.end, document), "affected": one.affected}
            for one in stretch.relevance.intervals
        ],
    }


def _span(start: int, end: int, document: PolicyDocument) -> dict[str, object]:
    """Return ticks, both included, and times, of which the second is where the last tick ends."""
    return {
        "first_tick": start,
        "last_tick": end,
        "start": document.begin(start),
        "end": document.begin(end + 1),
    }


def _number(units: float, document: PolicyDocument) -> float:
    return units * float(document.section.query.resolution)

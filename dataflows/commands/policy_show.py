"""`fugu policy show`: what is hidden when, what that takes, and how much noise it saves."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import orjson
from rich.console import Console

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.pictures import require_picture
from fugu.dataflows.policies.course import Course, Hidden, Stretch, first_day
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.fields import require_known
from fugu.dataflows.policies.tables import print_course, print_improvement
from fugu.dataflows.policies.wording import amount
from fugu.operators.swellfish.improvement import Improvement, improvement

_WEEK = 7
_MOST_TICKS = 1_000_000
"""Which take a few seconds."""


@dataclass(frozen=True)
class Options:
    """Hold which days to show, and how."""

    first_day: date | None
    last_day: date | None
    plot: Path | None
    as_json: bool


def show(path: Path, options: Options) -> None:
    """Print what a document asks for; neither Kafka nor a pipeline is needed."""
    require_picture(options.plot)
    course = _course(PolicyDocument.read(path), options)
    found = _improvement(course)
    if options.plot is not None:
        from fugu.dataflows.policies.plot import save

        save(course, path.name, options.plot)
    if options.as_json:
        print(orjson.dumps(_data(path, course, found), option=orjson.OPT_INDENT_2).decode())
    else:
        console = Console()
        print_course(console, course, path.name)
        print_improvement(console, found)


def _course(document: PolicyDocument, options: Options) -> Course:
    first = _known("--from", options.first_day) or first_day(document)
    last = _known("--until", options.last_day)
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


def _known(name: str, day: date | None) -> date | None:
    try:
        if day is not None:
            require_known(day)
    except ValueError as error:
        raise ConfigurationError(f"{name}: {error}") from None
    return day


def _improvement(course: Course) -> Improvement | None:
    """None where nothing is hidden."""
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
        "stretches": [_stretch(stretch, document) for stretch in course.stretches],
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


def _stretch(stretch: Stretch, document: PolicyDocument) -> dict[str, object]:
    return {
        **_span(stretch.start, stretch.end, document),
        "policies": [f"{one.collection}/{one.policy}" for one in stretch.hidden],
        "sensitivity": _number(stretch.relevance.sensitivity, document),
        "intervals": [
            {**_span(one.start, one.end, document), "affected": one.affected}
            for one in stretch.relevance.intervals
        ],
    }


def _span(start: int, end: int, document: PolicyDocument) -> dict[str, object]:
    """Ticks, both included, and times, of which the second is where the last tick ends."""
    return {
        "first_tick": start,
        "last_tick": end,
        "start": document.begin(start),
        "end": document.begin(end + 1),
    }


def _number(units: int, document: PolicyDocument) -> float:
    return float(amount(units, document.section.query))

"""Remark on what is allowed in a policy document and may still not be meant."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from fugu.dataflows.policies.building import asked, local, secret_pairs, ticks
from fugu.dataflows.policies.course import Course
from fugu.dataflows.policies.sections import PolicySection
from fugu.dataflows.policies.wording import counted, in_unit
from fugu.operators.swellfish.policy import Policy
from fugu.operators.swellfish.secret_pairs import steps


@dataclass(frozen=True)
class Remark:
    """Hold a remark about a policy, such as household/shower, a collection or the document."""

    about: str
    says: str


def remarks(course: Course) -> Iterator[Remark]:
    """List remarks in the order of the document; clock changes in the days of the course only."""
    document = course.document
    sections = document.section.collections
    if not any(collection.applies_to.default for collection in sections):
        yield Remark("collections", "none is the default: who is not named in keys has no policies")
    for section, collection in zip(sections, document.policies.collections, strict=True):
        if not section.policies:
            yield Remark(section.id, "has no policies: it hides nothing")
        for written, policy in zip(section.policies, collection.policies, strict=True):
            for says in _about(written, policy, course):
                yield Remark(f"{section.id}/{policy.id}", says)


def _about(written: PolicySection, policy: Policy, course: Course) -> Iterator[str]:
    document = course.document
    longest = ticks(policy.when, document.policies.tick_milliseconds)
    if not longest:
        yield "never occurs; look at days, from, until and except"
    elif policy.length > longest:
        yield (
            f"its pattern of {policy.length} ticks is longer than its interval of "
            f"{counted(longest, 'tick')}: what goes on outside of that is not hidden"
        )
    query, most = document.section.query, document.policies.largest_sensitivity
    if max(asked(written, document.section)) > most:
        what = "a pair" if written.theta is None else "theta"
        yield (
            f"{what} is more than an individual can change at all, {in_unit(most, query)}, "
            "which counts instead"
        )
    if not any(policy.thresholds):
        yield "theta is 0: it hides nothing"
    hours = written.calendar
    if hours is not None and hours.start == hours.end:
        yield f"from {hours.start:%H:%M} to {hours.end:%H:%M} is a whole day, to the next one"
    if written.theta is None and (told := steps(secret_pairs(written, document.section))) > 1:
        yield (
            f"not all of its values are pairs: two of them are told apart by up to {told} epsilon; "
            "write all as between, to make it one"
        )
    yield from _changes_of_clocks(written, course)


def _changes_of_clocks(written: PolicySection, course: Course) -> Iterator[str]:
    """Remark on local times that clocks skip or show twice, once each for start and end."""
    for name in ("start", "end"):
        found = [
            said
            for moment in _moments(name, written, course)
            if (said := _resolved(name, moment, course.document.zone))
        ]
        if found:
            more = f" (and {counted(len(found) - 1, 'time')} more)" if found[1:] else ""
            yield found[0] + more


def _moments(name: str, written: PolicySection, course: Course) -> Iterator[datetime]:
    if written.interval is not None:
        moment = written.interval.start if name == "start" else written.interval.end
        yield local(moment, course.document.section.grid.zone)
    elif written.calendar is not None:
        calendar = written.calendar
        next_day = name == "end" and calendar.end <= calendar.start
        for number in range(course.days):
            day = course.first_day + timedelta(number)
            if calendar.holds_on(day):
                of_day = calendar.start if name == "start" else calendar.end
                yield datetime.combine(day + timedelta(next_day), of_day)


def _resolved(name: str, moment: datetime, zone: ZoneInfo) -> str | None:
    readings = [moment.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    if readings[0] == readings[1]:
        return None
    happens = "skip" if readings[1] < readings[0] else "show twice"
    taken = min(readings) if name == "start" else max(readings)
    which = "earlier" if name == "start" else "later"
    return (
        f"{name}: clocks {happens} {moment:%Y-%m-%d %H:%M}; taken as {taken:%Y-%m-%d %H:%M} UTC, "
        f"the {which} moment it may mean"
    )

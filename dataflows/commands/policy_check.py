"""Check whether a policy document can be used, and show what it comes to."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from fugu.dataflows.commands.arguments import AsJson, DocumentPath
from fugu.dataflows.commands.output import Terminal, print_json
from fugu.dataflows.policies.course import (
    Course,
    about,
    amount,
    counted,
    duration,
    first_day,
    in_unit,
    when,
    whose,
)
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.remarks import Remark, noise_data, remarks
from fugu.dataflows.policies.sections import CollectionSection
from fugu.operators.swellfish.attribution import Attribution
from fugu.operators.swellfish.policy import Collection, Limits

_WEEK, _YEAR = 7, 366
_NAME_WIDTH, _HOURS_WIDTH = 12, 30


def check(path: DocumentPath, as_json: AsJson = False) -> None:
    """Check a policy document; exit with 1 if it cannot be used.

    Prints collections and policies, how often they occur, what they ask for at most, and remarks on
    what may not be meant.
    """
    document = PolicyDocument.read(path)
    week = Course(document, first_day(document), _WEEK)
    year = Course(document, week.first_day, _YEAR)
    found = list(remarks(year))
    if as_json:
        print_json(_data(path, week, year, found))
    else:
        _print(Terminal(), path, week, year, found)


def _data(path: Path, week: Course, year: Course, found: list[Remark]) -> dict[str, object]:
    document = week.document
    query = document.section.query
    in_week = _occurrences(week)
    most = year.most_affected
    return {
        "document": str(path),
        "first_day": week.first_day,
        "collections": [
            {
                "id": section.id,
                "default": section.applies_to.default or False,
                "keys": len(section.applies_to.keys or []),
                "owners": [owner.name for owner in document.owners_of(section.id)],
                "limits": _limits_data(document, section.id),
                "policies": [
                    {
                        "id": policy.id,
                        "when": ", ".join(when(written)),
                        "theta": [float(amount(units, query)) for units in policy.thresholds],
                        "ticks": policy.length,
                        "occurrences_in_first_week": in_week[section.id, policy.id],
                    }
                    for written, policy in zip(section.policies, collection.policies, strict=True)
                ],
            }
            for section, collection in zip(
                document.section.collections, document.policies.collections, strict=True
            )
        ],
        "first_year": {
            "sensitivity": float(amount(year.largest_sensitivity, query)),
            "affected": 0 if most is None else most.affected,
            "noise": float(year.document.section.query.resolution) * year.most_noise[1],
        },
        "first_week": {"noise": noise_data(document, week.attribution)},
        "notice": duration(document.policies.notice * document.policies.tick_milliseconds),
        "sensitivity_without_policies": float(amount(document.policies.largest_sensitivity, query)),
        "remarks": [asdict(remark) for remark in found],
    }


def _limits_data(document: PolicyDocument, collection: str) -> dict[str, object]:
    """Return what changes may make of a collection; noise in the unit of the query."""
    limits, one = document.policies.limits_of(collection), document.policies.noise.of_one
    return {
        "noise": (limits.demand or 0) * one,
        "added": None if limits.added is None else limits.added * one,
        "interval_ticks": limits.longest,
        "policies": limits.policies,
    }


def _print(console: Terminal, path: Path, week: Course, year: Course, found: list[Remark]) -> None:
    document = week.document
    query = document.section.query
    console.print(f"\n[bold]{path.name}[/bold]: OK", highlight=False)
    for section, collection in zip(
        document.section.collections, document.policies.collections, strict=True
    ):
        owners = ", ".join(owner.name for owner in document.owners_of(section.id))
        owned = f", owned by {owners}" if owners else ""
        console.print(
            f"\n[bold]{section.id}[/bold], for {whose(section.applies_to)}{owned}",
            highlight=False,
        )
        if section.policies:
            console.print(_table(section, collection, week))
    policies = document.policies
    tick = duration(policies.tick_milliseconds)
    notice = duration(policies.notice * policies.tick_milliseconds)
    whole = in_unit(document.policies.largest_sensitivity, query)
    console.print()
    for line in (
        f"What a change takes away stays for {notice}: that is the notice.",
        f"A tick is {tick}. The first week and year begin on {week.first_day}.",
        f"Largest sensitivity in that year: {in_unit(year.largest_sensitivity, query)}; "
        f"{whole} without policies.",
        _affected(year),
        *_noise(week, year),
        *_limits(document),
        *(f"[yellow]remark[/yellow] {remark.about}: {remark.says}" for remark in found),
    ):
        console.print(line, highlight=False, soft_wrap=True)


def _limits(document: PolicyDocument) -> Iterator[str]:
    """Say what changes may make of collections, which mostly have the same limits."""
    policies, query = document.policies, document.section.query
    alike: dict[Limits, list[str]] = {}
    for collection in policies.collections:
        alike.setdefault(policies.limits_of(collection.id), []).append(collection.id)
    for limits, names in alike.items():
        collections = "each collection" if len(alike) == 1 else ", ".join(names)
        most = limits.demand or 0
        added = most if limits.added is None else limits.added
        noise, more = (about(one / document.section.epsilon, query) for one in (most, added))
        yield (
            f"Changes may bring {collections} to noise of {noise}, {limits.policies} policies and "
            f"intervals of {limits.longest:,} ticks; one change may add noise of {more}."
        )


def _table(section: CollectionSection, collection: Collection, week: Course) -> Table:
    """List the policies of a collection."""
    in_week = _occurrences(week)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False)
    table.add_column("policy", min_width=_NAME_WIDTH)
    table.add_column("when", min_width=_HOURS_WIDTH)
    for heading in ("hides", "in a row", "first week"):
        table.add_column(heading, justify="right")
    for written, policy in zip(section.policies, collection.policies, strict=True):
        hours, *limits = when(written)
        table.add_row(
            policy.id,
            f"{hours}\n[dim]{', '.join(limits)}[/dim]" if limits else hours,
            in_unit(max(policy.thresholds), week.document.section.query),
            counted(policy.length, "tick"),
            str(in_week[section.id, policy.id]),
        )
    return table


def _affected(year: Course) -> str:
    most = year.most_affected
    if most is None:
        return "Nothing is hidden in that year."
    ticks = counted(most.end - most.start + 1, "tick")
    return f"Largest delta in that year: {most.affected:,} of an interval's {ticks} can differ."


def _noise(week: Course, year: Course) -> Iterator[str]:
    """Say what noise is expected, when it is most, and who asks for most of it."""
    document, (loudest, most) = year.document, year.most_noise
    query, epsilon = document.section.query, document.section.epsilon
    yield f"Epsilon is {epsilon:g} in each interval of each policy."
    if loudest is None:
        return
    when = f"{document.begin(loudest.start):%Y-%m-%d %H:%M}"
    yield (
        f"Largest expected noise of a figure in that year: {about(most, query)}, first on {when}; "
        f"mean of the first week: {about(week.attribution.mean, query)}."
    )
    name, saved = _costliest(week.attribution)
    if saved:
        left = about(week.attribution.mean - saved, query)
        yield f"Without {name} that mean would be {left}; see fugu policy show."


def _costliest(found: Attribution) -> tuple[str, float]:
    """Return without what most noise would be saved, and how much: a collection, or a policy of the
    only one that has some."""
    shares = {name: one for name, one in found.collections.items() if one.policies}
    saved = [(name, one.saved) for name, one in shares.items()]
    if len(shares) == 1:
        [(collection, share)] = shares.items()
        saved = [(f"{collection}/{name}", one.saved) for name, one in share.policies.items()]
    return max(saved, key=lambda one: one[1], default=("", 0.0))


def _occurrences(course: Course) -> Counter[tuple[str, str]]:
    """Count the occurrences that begin in the days of the course, by collection and policy."""
    return Counter(
        (one.collection, one.policy)
        for one in course.hidden
        if one.occurrence.start >= course.start
    )

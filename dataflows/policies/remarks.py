"""Remark on policies that may not be meant as they stand, and print the noise that they cause."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fugu.dataflows.policies.course import Course, about, counted, in_unit, measured, whose
from fugu.dataflows.policies.document import PolicyDocument, asked, local, secret_pairs, ticks
from fugu.dataflows.policies.sections import PolicySection, QuerySection
from fugu.operators.swellfish.attribution import Attribution, Improvement, Share
from fugu.operators.swellfish.policy import Policy
from fugu.operators.swellfish.relevance import steps
from fugu.operators.wevent.allocation import Booleans


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


Measured = Callable[[Booleans], float | None]
"""Says what was measured at the ticks of these stretches, in the unit of the data, if anything."""

HOW_TO_READ = (
    "noise: the mean of the ticks where it is relevant, whoever asks for it; alone: if there were "
    "no other collection",
    "sets Δ_t, sets δ: at so many ticks nobody's is larger; several may be as large",
    "without: the mean of all ticks without it, in the first row with all; what several ask for "
    "alike is saved only without all of them, so that savings do not add up",
)
_MOST_ROWS = 40


def print_noise(
    console: Console, document: PolicyDocument, found: Attribution, compared: Improvement | None
) -> None:
    """Print the expected noise, by collection and policy, and the noise without any policies."""
    if compared is None:
        console.print("\nNothing is hidden in these days: every tick can be published exactly.")
        return
    console.print("\n[bold]Noise by collection and policy[/bold]")
    console.print(noise_table(document, found))
    console.print()
    query = document.section.query
    whole = compared.longest * document.policies.largest_sensitivity / document.section.epsilon
    for line in (
        *HOW_TO_READ,
        f"{compared.exact:.1%} of the ticks hide nothing: these can be published exactly",
        f"without policies it would be {about(whole, query)} at every tick, with epsilon for any "
        f"{counted(compared.longest, 'tick')}, as many as the longest interval here has",
    ):
        console.print(f"- {line}", highlight=False)


def noise_table(
    document: PolicyDocument, found: Attribution, error: Measured | None = None
) -> Table:
    """List collections and their policies; those first without which most noise would be saved."""
    query = document.section.query
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False)
    table.collapse_padding = True
    table.add_column("whose", overflow="fold")
    headings = ["ticks", "noise", "alone", "sets Δ_t", "sets δ", "without"]
    for heading in [*headings, "error"] if error else headings:
        table.add_column(heading, justify="right", no_wrap=True)
    mean = f"[bold]{about(found.mean, query)}[/bold]"
    where = f"{found.noisy:,}", about(found.where_noisy, query)
    everybody = "[bold]everybody[/bold]", *where, "", "", "", mean
    rows = [(found.noise > 0, everybody), *_rows(document, found)]
    for relevant, row in rows[:_MOST_ROWS]:
        erred = None if error is None else error(relevant)
        table.add_row(*row, *([] if erred is None else [measured(erred, query)]))
    if rows[_MOST_ROWS:]:
        table.add_row(f"... {len(rows) - _MOST_ROWS:,} more: --json")
    return table


def noise_data(
    document: PolicyDocument, found: Attribution, error: Measured | None = None
) -> dict[str, object]:
    """Return the same for a machine, in the unit of the data."""
    query = document.section.query

    def share_data(share: Share) -> dict[str, object]:
        erred = {} if error is None else {"mean_error_there": error(share.relevant)}
        return {
            "ticks": share.ticks,
            "mean_there": _number(share.noise, query),
            **erred,
            "mean_saved_without": _number(share.saved, query),
        }

    return {
        "epsilon": document.section.epsilon,
        "unit": query.unit,
        "ticks": found.ticks,
        "noisy_ticks": found.noisy,
        "mean": _number(found.mean, query),
        "mean_where_noisy": _number(found.where_noisy, query),
        "most": _number(found.most, query),
        "collections": {
            name: {
                **share_data(share),
                "mean_alone": _number(share.own, query),
                "sets_sensitivity_ticks": share.sets_sensitivity,
                "sets_affected_ticks": share.sets_affected,
                "policies": {policy: share_data(one) for policy, one in share.policies.items()},
            }
            for name, share in found.collections.items()
        },
    }


def _rows(
    document: PolicyDocument, found: Attribution
) -> Iterator[tuple[Booleans, tuple[str, ...]]]:
    """Yield at which stretches something is relevant, and its row."""
    query = document.section.query
    sections = {one.id: one.applies_to for one in document.section.collections}
    for name, share in sorted(found.collections.items(), key=lambda one: -one[1].saved):
        collection = (
            f"[bold]{name}[/bold], {whose(sections[name])}",
            f"{share.ticks:,}",
            about(share.noise, query) if share.ticks else "",
            about(share.own, query) if share.ticks else "",
            f"{share.sets_sensitivity:,}",
            f"{share.sets_affected:,}",
            about(found.mean - share.saved, query),
        )
        yield share.relevant, collection
        for policy, one in sorted(share.policies.items(), key=lambda one: -one[1].saved):
            noise = about(one.noise, query) if one.ticks else ""
            without = about(found.mean - one.saved, query)
            yield one.relevant, (f"  {policy}", f"{one.ticks:,}", noise, "", "", "", without)


def _number(units: float, query: QuerySection) -> float:
    return units * float(query.resolution)

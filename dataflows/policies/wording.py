"""Write policies in words: amounts, hours and days."""

from collections.abc import Sequence
from decimal import Decimal

from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.sections import WEEKDAYS, AppliesTo, PolicySection, QuerySection

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


OF_STRATEGIES = (
    "unicorn_ps has at most that; unicorn decides with half of epsilon, and has at most twice that"
)


def amount(units: int, query: QuerySection) -> Decimal:
    """Write an amount in units as a number of the query's unit."""
    return (units * query.resolution).normalize()


def in_unit(units: int, query: QuerySection) -> str:
    """Write an amount in units as text, with the query's unit."""
    return f"{amount(units, query):f} {query.unit or ''}".rstrip()


def about(units: float, query: QuerySection) -> str:
    """Write an expected amount in units as text of three digits, with the query's unit."""
    return measured(units * float(query.resolution), query)


def measured(number: float, query: QuerySection) -> str:
    """Write a number of the query's unit as text of three digits, with the unit."""
    digits = f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
    return f"{digits} {query.unit or ''}".rstrip()


def duration(milliseconds: int) -> str:
    """Write a duration in the largest unit of which it is a whole number.

    >>> duration(600_000), duration(7_200_000), duration(86_400_000), duration(1_500)
    ('10 minutes', '2 hours', '1 day', '1.5 seconds')
    """
    for unit, name in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if milliseconds % unit == 0:
            return counted(milliseconds // unit, name)
    return "1 second" if milliseconds == 1000 else f"{milliseconds / 1000:g} seconds"


def moment(tick: int | None, document: PolicyDocument) -> str | None:
    """Say when a tick begins, by the clock of the grid's zone; its number where calendars end."""
    if tick is None:
        return None
    try:
        return f"{document.begin(tick):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return f"tick {tick}"


def counted(number: int, what: str) -> str:
    """Write a count with its noun, in the plural where it is not 1."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def whose(applies_to: AppliesTo) -> str:
    """Say whose policies a collection holds."""
    return "everybody else" if applies_to.default else counted(len(applies_to.keys or []), "key")


def when(policy: PolicySection) -> list[str]:
    """Say when a policy holds: hours, and what limits them."""
    if policy.calendar is None:
        assert policy.interval is not None
        start, end = policy.interval.start, policy.interval.end
        return [f"from {start:%Y-%m-%d %H:%M}", f"to {end:%Y-%m-%d %H:%M}"]
    calendar = policy.calendar
    hours = f"{days(calendar.days)} {calendar.start:%H:%M}–{calendar.end:%H:%M}"
    limits = [
        f"from {calendar.from_}" if calendar.from_ else "",
        f"until {calendar.until}" if calendar.until else "",
        f"except {counted(len(calendar.except_), 'day')}" if calendar.except_ else "",
    ]
    return [hours, *filter(None, limits)]


def days(written: Sequence[str]) -> str:
    """Write days of the week, as a range where they are one.

    >>> days(["mon", "tue", "wed"]), days(["mon", "sun", "sat"]), days(["tue", "sun"])
    ('mon–wed', 'sat–mon', 'tue, sun')
    """
    chosen = [day for day in WEEKDAYS if day in written]
    if len(chosen) == len(WEEKDAYS):
        return "daily"
    if len(chosen) > 2:
        for first in range(len(WEEKDAYS)):
            run = [WEEKDAYS[(first + more) % 7] for more in range(len(chosen))]
            if set(run) == set(chosen):
                return f"{run[0]}–{run[-1]}"
    return ", ".join(chosen)

"""Read days, times and thresholds, as policies write them."""

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

from fugu.dataflows.policies.zones import FIRST_YEAR, LAST_YEAR

_TIME = re.compile(r"^\d\d:\d\d(:\d\d)?$")
_THRESHOLD = re.compile(r"^(?P<number>-?\d{1,30}(\.\d{1,30})?)\s*(?P<unit>[^\s\d.].*)?$")

_LONGEST_LIST = 1_000

Threshold = tuple[Decimal, str | None]
"""A number and its unit, if one is written."""


def _day(given: object) -> date:
    try:
        day = given if type(given) is date else date.fromisoformat(_text(given))
    except ValueError:
        raise ValueError("write a day, such as 2024-05-01") from None
    require_known(day)
    return day


def require_known(day: date) -> None:
    """Raise `ValueError` unless zones are known then."""
    if not FIRST_YEAR <= day.year < LAST_YEAR:
        raise ValueError(f"must be in the years {FIRST_YEAR} to {LAST_YEAR - 1}")


def _time_of_day(given: object) -> time:
    try:
        return time.fromisoformat(_text(given) if _TIME.match(_text(given)) else "")
    except ValueError:
        raise ValueError(
            'write a time of day in quotes, such as "18:30"; midnight is "00:00"'
        ) from None


def _moment(given: object) -> datetime:
    return _moment_or(
        given,
        "write a day and a time, such as 2024-05-01T18:30, by the clock of the grid's zone, or "
        "2024-05-01T16:30Z",
    )


def _tick_or_instant(given: object) -> int | datetime:
    if type(given) is int:
        return given
    advice = (
        'write a day, a time and its zone, such as "2026-03-01T00:00:00+01:00", or the number of a '
        "tick"
    )
    instant = _moment_or(given, advice)
    if instant.tzinfo is None:
        raise ValueError(advice)
    return instant


def _moment_or(given: object, advice: str) -> datetime:
    """Return a day and a time; `ValueError` with the advice if it is none."""
    try:
        text = _text(given) if len(_text(given)) > len("2024-05-01") else ""
        moment = given if isinstance(given, datetime) else datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(advice) from None
    offset = moment.utcoffset() or timedelta(0)
    if moment.microsecond or offset.microseconds:
        raise ValueError("write whole seconds")
    require_known(moment)
    return moment


def _text(given: object) -> str:
    return given if isinstance(given, str) else ""


def amount(given: object) -> Threshold:
    """Read a finite number, with its unit if one is written; `ValueError` otherwise."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        number, unit = Decimal(str(given)), None
    elif isinstance(given, str) and (match := _THRESHOLD.match(given)):
        number, unit = Decimal(match["number"]), match["unit"]
    else:
        raise ValueError('write a number, such as 2.2, with its unit if you like: "2.2 kW"')
    if not number.is_finite():
        raise ValueError("must be a finite number")
    return number, unit


def _threshold(given: object) -> Threshold:
    threshold = amount(given)
    if threshold[0] < 0:
        raise ValueError("must be 0 or more")
    return threshold


def _thresholds(given: object) -> Threshold | list[Threshold]:
    if isinstance(given, list):
        if not given:
            raise ValueError("lists nothing; write a number for each tick of the pattern, or one")
        if len(given) > _LONGEST_LIST:
            raise ValueError(f"lists more than {_LONGEST_LIST:,} numbers; write one, the largest")
        return [_threshold(one) for one in given]
    return _threshold(given)


Day = Annotated[date, BeforeValidator(_day)]
TimeOfDay = Annotated[time, BeforeValidator(_time_of_day)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
TickOrInstant = Annotated[int | datetime, BeforeValidator(_tick_or_instant)]
Amount = Annotated[Threshold, BeforeValidator(_threshold)]
Thresholds = Annotated[Threshold | list[Threshold], BeforeValidator(_thresholds)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]

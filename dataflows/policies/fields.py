"""Read days, times, zones, thresholds, pairs of values and owners, as policies write them."""

import base64
import binascii
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from fugu.dataflows.base.errors import UnusableField
from fugu.dataflows.base.section import Section
from fugu.operators.swellfish.calendar import Zone
from fugu.operators.swellfish.relevance import Pair, Value, between

FIRST_YEAR, LAST_YEAR = 1970, 2100
FIRST_SECOND, LAST_SECOND = (
    int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (FIRST_YEAR, LAST_YEAR)
)
_STEP = 2 * 86_400
"""No zone has had two offsets within less than six days."""


@cache
def zone(name: str) -> Zone:
    """Return what clocks show in these years; `ValueError` if there is no such zone."""
    info = zone_info(name)
    transitions = [(FIRST_SECOND, _offset(info, FIRST_SECOND))]
    for before, after in pairwise([*range(FIRST_SECOND, LAST_SECOND, _STEP), LAST_SECOND]):
        offset = _offset(info, after)
        if offset != transitions[-1][1]:
            span = range(before, after + 1)
            second = before + bisect_left(span, True, key=lambda one: _offset(info, one) == offset)
            transitions.append((second, offset))
    return Zone(name, tuple(transitions))


def zone_info(name: str) -> ZoneInfo:
    """Return the zone for single moments; `ValueError` if there is no such zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"{name!r} is not a time zone; write its IANA name, such as Europe/Berlin or UTC"
        ) from None


def _offset(info: ZoneInfo, second: int) -> int:
    ahead = datetime.fromtimestamp(second, info).utcoffset()
    assert ahead is not None
    return int(ahead.total_seconds())


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

Written = int | float | str | list[str]
_MOST_PAIRS = 100


def _written(given: object) -> Written:
    if isinstance(given, int | float | str) and not isinstance(given, bool):
        return given
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        return given
    raise ValueError("write a number, a name, or a list of names; put yes and no in quotes")


_Value = Annotated[Written, BeforeValidator(_written)]
SecretValues = Annotated[list[_Value], Field(min_length=2, max_length=_MOST_PAIRS)]
_SecretPair = Annotated[list[_Value], Field(min_length=2, max_length=2)]
SecretPairs = Annotated[list[_SecretPair], Field(min_length=1, max_length=_MOST_PAIRS)]


@dataclass(frozen=True)
class Vocabulary:
    """Say what values are: of which query, in which unit, and of which activities.

    `between: [0, 2.2 kW, 6 kW]` makes each two of its values a secret pair, and `pairs: [[0, 2.2],
    [3, 6]]` those two pairs. Values of a sum are numbers, those of a histogram names of groups, and
    those of a multi_histogram lists of the activities that go on at once.
    """

    kind: str
    unit: str | None
    activities: Sequence[str]

    def pairs(
        self, values: Sequence[Written] | None, pairs: Sequence[Sequence[Written]] | None
    ) -> list[Pair]:
        """Return the pairs that `between` or `pairs` lists; `UnusableField` names the place."""
        if self.kind == "count":
            name = "pairs" if values is None else "between"
            raise UnusableField(name, "a count has two values only; write theta: 1")
        if values is not None:
            return between(list(self._different("between", values)))
        return [
            (one, other)
            for place, pair in enumerate(pairs or [])
            for one, other in [self._different(f"pairs.{place}", pair)]
        ]

    def _different(self, field: str, written: Sequence[Written]) -> Iterator[Value]:
        seen = set()
        for place, one in enumerate(written):
            try:
                value = self._value(one)
            except ValueError as error:
                raise UnusableField(f"{field}.{place}", str(error)) from None
            if value in seen:
                raise UnusableField(f"{field}.{place}", "is there twice; write different values")
            seen.add(value)
            yield value

    def _value(self, written: Written) -> Value:
        if self.kind == "sum":
            return self._number(written)
        if isinstance(written, list) != (self.kind == "multi_histogram"):
            raise ValueError(
                "write a list of activities, such as [sitting]; [] is none"
                if self.kind == "multi_histogram"
                else "write the name of one group"
            )
        names = written if isinstance(written, list) else [str(written)]
        if not set(names) <= set(self.activities):
            raise ValueError("is not among the activities of the document; add it there")
        return frozenset(names) if isinstance(written, list) else names[0]

    def _number(self, written: Written) -> Fraction:
        number, unit = amount(written)
        if unit is not None and unit != self.unit:
            expected = "without one" if self.unit is None else f"in {self.unit}, as query.unit says"
            raise ValueError(f"is in another unit than the query; write it {expected}")
        return Fraction(number)


_KEY_BYTES = 32
_FIELD = 2**255 - 19
_OF_ORDER_8 = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
_OF_SMALL_ORDER = {0, 1, _FIELD - 1, _FIELD, _FIELD + 1, _OF_ORDER_8, _FIELD - _OF_ORDER_8}
"""The y of all points of small order, in every way to write them. A signature for such a key can be
made without a private one."""


def of_base64(written: str) -> bytes | None:
    """Return bytes; None unless this is how base64 writes them, of several ways the only one."""
    try:
        content = base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError):
        return None
    return content if base64.b64encode(content).decode() == written else None


def _public_key(written: str) -> str:
    key = of_base64(written)
    if key is None or len(key) != _KEY_BYTES:
        raise ValueError(
            "write the 32 bytes of a public key in base64, as fugu policy keys prints them"
        )
    if int.from_bytes(key, "little") % 2**255 in _OF_SMALL_ORDER:
        raise ValueError(
            "is no key: anybody can sign for it; write one that fugu policy keys has made"
        )
    return written


PublicKey = Annotated[str, AfterValidator(_public_key)]


class OwnerSection(Section):
    """Name an owner, who has the private key of a public one, or the secret of the pipeline."""

    name: Identifier
    ed25519: PublicKey | None = None
    hmac: Literal[True] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.ed25519 is None) == (self.hmac is None):
            raise ValueError("write either ed25519: PUBLIC_KEY or hmac: true")
        return self

    @property
    def public_key(self) -> bytes | None:
        """Return the 32 bytes of the key; None where a secret is shared."""
        return None if self.ed25519 is None else base64.b64decode(self.ed25519)


Owners = Annotated[list[OwnerSection], Field(min_length=1)]

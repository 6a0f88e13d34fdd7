"""Read durations, such as 500ms, 1s, 15m, 1d or those of ISO 8601, and say them in words.

>>> between("50ms", "60m")("1.5s")
datetime.timedelta(seconds=1, microseconds=500000)
>>> between("1s", "2d")("PT1H30M")
datetime.timedelta(seconds=5400)
"""

import re
from collections.abc import Callable
from datetime import timedelta

from pydantic import WithJsonSchema

_DURATION = re.compile(r"^(\d+(?:\.\d+)?)(ms|s|m|h|d)$")
_ISO = re.compile(
    r"^P(?=.)(?:(?P<d>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?$"
)
DURATION_PATTERN = f"{_DURATION.pattern}|^P.+$"
AS_JSON = WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN})
"""Describe a duration in a JSON Schema."""
MILLISECOND = timedelta(milliseconds=1)
_UNITS = ((86_400_000, "day"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def between(shortest: str, longest: str) -> Callable[[object], timedelta]:
    """Return a function that reads a duration; one that was read before is left as it is."""
    least, most = _seconds(shortest), _seconds(longest)

    def read(value: object) -> timedelta:
        if isinstance(value, timedelta):
            return value
        seconds = _seconds(value)
        if not least <= seconds <= most:
            raise ValueError(f"must be at least {shortest} and at most {longest}")
        return timedelta(seconds=seconds)

    return read


def whole_milliseconds(shortest: str, longest: str) -> Callable[[object], timedelta]:
    """Return a function that reads a duration without fractions of a millisecond."""
    inside = between(shortest, longest)

    def read(value: object) -> timedelta:
        duration = inside(value)
        if duration % MILLISECOND:
            raise ValueError("must be a whole number of milliseconds")
        return duration

    return read


def duration(milliseconds: int) -> str:
    """Say a duration exactly, in at most as many units as it takes.

    >>> duration(900_000), duration(864_000_000), duration(90_061_001)
    ('15 min', '10 days', '1 day 1 h 1 min 1 s 1 ms')
    """
    parts = []
    for unit, name in _UNITS:
        number, milliseconds = divmod(milliseconds, unit)
        if number:
            parts.append(f"{number} {name}{'s' * (name == 'day' and number > 1)}")
    return " ".join(parts)


def _seconds(value: object) -> float:
    text = value if isinstance(value, str) else ""
    if match := _DURATION.match(text):
        return float(match[1]) * _SECONDS[match[2]]
    if match := _ISO.match(text):
        parts = match.groupdict(default="0")
        return sum(float(number) * _SECONDS[unit] for unit, number in parts.items())
    raise ValueError("write a duration with its unit, such as 500ms, 1s or 1m")

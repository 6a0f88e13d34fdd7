"""Durations as a pipeline file writes them: a number and its unit, such as 500ms, 1s, 15m or 1d.

>>> between("50ms", "60m")("1.5s")
datetime.timedelta(seconds=1, microseconds=500000)
"""

import re
from collections.abc import Callable
from datetime import timedelta

_DURATION = re.compile(r"^(\d+(?:\.\d+)?)(ms|s|m|h|d)$")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def between(shortest: str, longest: str) -> Callable[[object], timedelta]:
    """Reads a duration; one that was read before is left as it is."""
    least, most = _seconds(shortest), _seconds(longest)

    def read(value: object) -> timedelta:
        if isinstance(value, timedelta):
            return value
        seconds = _seconds(value)
        if not least <= seconds <= most:
            raise ValueError(f"must be at least {shortest} and at most {longest}")
        return timedelta(seconds=seconds)

    return read


def _seconds(value: object) -> float:
    match = _DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("write a duration with its unit, such as 500ms, 1s or 1m")
    return float(match[1]) * _SECONDS[match[2]]

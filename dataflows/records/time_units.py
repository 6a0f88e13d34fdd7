"""Guess by its size in which unit a time is written, where it cannot be meant as it is read.

What is read as a time before 1973 was written in a larger unit than the one it is read in, and
what is beyond the year 9999 in a smaller one. Nothing that is released is decided by this.
"""

from typing import Literal

EARLIEST_MEANT = 10**11
"""The first millisecond that is taken as meant, in 1973: seconds of now are less."""
Format = Literal["epoch-ms", "epoch-s", "rfc3339"]


def advice(unit: Format, *, too_small: bool) -> str:
    """Return what a time looks like that is too small, or too large, for the unit it is read in.

    >>> advice("epoch-ms", too_small=True)
    'it looks like seconds; write source.timestamp.format: epoch-s'
    """
    match unit, too_small:
        case "epoch-ms", True:
            return "it looks like seconds; write source.timestamp.format: epoch-s"
        case "epoch-ms", False:
            return "it looks like microseconds; producers must convert them"
        case "epoch-s", False:
            return "it looks like milliseconds; write source.timestamp.format: epoch-ms"
        case _:
            return "it is no time since 1970; look at what producers write"

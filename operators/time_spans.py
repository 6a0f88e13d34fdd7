"""Count the ticks, windows and periods that a stretch of time meets, in whole milliseconds.

Ticks of w milliseconds are aligned to 1970: time t lies in tick floor(t / w). A stretch of T
milliseconds that begins at a multiple of s begins k g after the beginning of a tick, for some k and
g = gcd(s, w), so at most w - g after it, and then touches

    floor((w - g + T - 1) / w) + 1

ticks; no other beginning touches more. So many ticks in a row are covered by as many windows of n
ticks in a row as n goes into them, rounded up. A period of n ticks is a tick of n w milliseconds.

>>> quarter, day = 15 * 60_000, 24 * 3_600_000
>>> ticks_touched(10 * day, quarter), ticks_touched(10 * day, quarter, step=day)
(961, 960)
>>> windows_touched(10 * day, quarter, ticks=10, step=day)
96
"""

from math import gcd


def ticks_touched(length: int, width: int, step: int = 1) -> int:
    """Return the most ticks of `width` that a stretch of `length` touches that begins at a multiple
    of `step`, all in milliseconds."""
    return (width - gcd(step, width) + length - 1) // width + 1


def windows_touched(length: int, width: int, ticks: int, step: int = 1) -> int:
    """Return the fewest windows of so many ticks in a row that cover any such stretch."""
    return -(-ticks_touched(length, width, step) // ticks)


def periods_touched(length: int, width: int, ticks: int, step: int = 1) -> int:
    """Return the most aligned periods of so many ticks that any such stretch touches."""
    return ticks_touched(length, width * ticks, step)

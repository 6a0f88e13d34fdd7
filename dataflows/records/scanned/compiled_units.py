"""Read numbers in whole units, as `Numbers.read` rounds them, where no double could be wrong."""

import numpy as np

from fugu.dataflows.records.scanned.compiled_numerals import (
    DECIMAL,
    INTEGER,
    LONG_DECIMAL,
    MINUS,
    POINT,
    ZERO,
    integer_at,
)
from fugu.dataflows.records.scanned.compiled_objects import Flags
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Integers

_ONE, _TEN = np.uint64(1), np.uint64(10)
_LARGE, _CLEAR = 2.0**40, 0.499
"""Doubles below `_LARGE` cannot be wrong about which unit is nearest, if it is nearer than this:
five roundings, by 2^-53 of a number each, are less than a thousandth."""
_POWERS = 10 ** np.arange(19, dtype=np.int64)


@part
def _digits_at(content: Bytes, begin: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return all digits of a decimal as one number, and how many are behind the point."""
    digits, fraction, at = np.uint64(0), np.uint64(0), begin
    while at < end:
        if content[at] == POINT:
            fraction = end - at - _ONE
        elif content[at] != MINUS:
            digits = _TEN * digits + np.uint64(content[at] - ZERO)
        at += _ONE
    return digits, fraction


@part
def _units_of_integer(value: int, units_per_one: int, largest: int) -> int:
    most = largest // units_per_one
    if value > most:
        return largest
    return -largest if value < -most else value * units_per_one


@part
def _units_of_decimal(
    content: Bytes,
    kind: np.uint8,
    begin: np.uint64,
    end: np.uint64,
    units_per_one: int,
    largest: int,
) -> tuple[int, bool]:
    """Return the nearest number of units, halves up, and whether it is sure."""
    digits, fraction = _digits_at(content, begin, end)
    power = _POWERS[fraction]
    units = np.float64(digits) / np.float64(power) * np.float64(units_per_one)
    if content[begin] == MINUS:
        units = -units
    nearest = np.floor(units + 0.5)
    if abs(units) < _LARGE and abs(units - nearest) < _CLEAR:
        return int(nearest), True
    signed = int(np.int64(digits))
    if content[begin] == MINUS:
        signed = -signed
    if kind != DECIMAL or abs(signed) > largest // units_per_one:
        return 0, False
    return int((2 * signed * units_per_one + power) // (2 * power)), True


@entry_point
def read_units(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    units_per_one: int,
    largest: int,
    units: Integers,
) -> None:
    """Write the nearest number of units of each record; none is beyond `largest`, of 62 bits."""
    for row in range(len(units)):
        if sure[row]:
            begin, end = np.uint64(begins[row]), np.uint64(ends[row])
            kind = kinds[row]
            if kind == INTEGER:
                value = integer_at(content, begin, end)
                units[row] = _units_of_integer(value, units_per_one, largest)
            elif kind in (DECIMAL, LONG_DECIMAL):
                units[row], sure[row] = _units_of_decimal(
                    content, kind, begin, end, units_per_one, largest
                )
            else:
                sure[row] = False


@entry_point
def read_times(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    milliseconds_per_unit: int,
    latest: int,
    times: Integers,
) -> None:
    """Write the time of each record in milliseconds, which is from 0 to `latest`."""
    last = latest // milliseconds_per_unit
    for row in range(len(times)):
        if sure[row]:
            if kinds[row] == INTEGER:
                value = integer_at(content, np.uint64(begins[row]), np.uint64(ends[row]))
                times[row] = value * milliseconds_per_unit
                sure[row] = 0 <= value <= last
            else:
                sure[row] = False

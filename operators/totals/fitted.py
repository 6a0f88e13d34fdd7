"""Choose the buffers of a horizon and a cap from the table that was fitted for them."""

from functools import cache
from math import fsum

from fugu.operators.totals.buffers import Buffers, decoding_column, participation
from fugu.operators.totals.fitted_table import TABLE

LARGEST_TICKS = 2**15
UNMIXED = Buffers((1,), (0,))
"""Values as they are, but for 2^-32 of the one before."""


@cache
def _table() -> dict[int, dict[int, Buffers]]:
    """Return the buffers by ticks, and then by ticks counted."""
    table: dict[int, dict[int, Buffers]] = {}
    for line in TABLE.strip().splitlines():
        ticks, counted, *numbers = map(int, line.split())
        half = len(numbers) // 2
        buffers = Buffers(tuple(numbers[:half]), tuple(numbers[half:]))
        table.setdefault(ticks, {})[counted] = buffers
    return table


@cache
def fitted(ticks: int, counted: int, apart: int = 1) -> Buffers:
    """Return the buffers of the shortest horizon of the table that has so many ticks, and there of
    the most ticks counted that are not more.

    Where a person counts in many of the ticks, values are not mixed unless that errs less. Where
    those that a person counts in are `apart`, mixing less far may be better: take of these,
    and of those of all horizons for one tick counted, the ones that err least.

    Whatever the table holds, the promise is the same: what neighbours may differ by is computed
    for the buffers that are chosen. Poor ones cost accuracy only.

    >>> fitted(1000, 10) == fitted(1024, 8)
    True

    Source: continual release specification, section 3 (law).
    """
    table = _table()
    row = table[min(length for length in table if length >= ticks)]
    usual = row[max(number for number in row if number <= counted)]
    tried = [usual]
    if 4 * counted > ticks:
        tried.append(UNMIXED)
    if apart > 1:
        tried += [table[length][1] for length in sorted(table) if length <= ticks]
    if len(tried) == 1:
        return usual
    return min(tried, key=lambda buffers: _error(buffers, ticks, counted, apart))


def _error(buffers: Buffers, ticks: int, counted: int, apart: int) -> float:
    """Return the mean squared error of totals for one promise, in some unit.

    Sums are rounded once, so that every machine chooses the same.
    """
    column = decoding_column(buffers, ticks).tolist()
    squares = fsum((ticks - place) * one * one for place, one in enumerate(column))
    return float(participation(buffers, ticks, counted, apart)) * squares

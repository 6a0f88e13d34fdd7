"""Choose the buffers of a horizon and a cap from the table that was fitted for them."""

from functools import cache

from fugu.operators.totals.buffers import Buffers
from fugu.operators.totals.fitted_table import TABLE

LARGEST_TICKS = 2**15


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


def fitted(ticks: int, counted: int) -> Buffers:
    """Return the buffers of the shortest horizon of the table that has so many ticks, and there of
    the most ticks counted that are not more.

    Whatever the table holds, the promise is the same: what neighbours may differ by is computed
    for the buffers that are chosen. Poor ones cost accuracy only.

    >>> fitted(1000, 10) == fitted(1024, 8)
    True

    Source: continual release specification, section 3 (law).
    """
    table = _table()
    row = table[min(length for length in table if length >= ticks)]
    return row[max(number for number in row if number <= counted)]

"""Estimate the memory that rows of state take."""

from collections.abc import Callable

from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import State

_BYTES_PER_KEY = 200
BYTES_PER_PAYLOAD = 200
"""Estimates a payload, Python's overhead included."""


def estimated_megabytes(
    start: Callable[[int], State], rows: int, *, bytes_per_payload: int = BYTES_PER_PAYLOAD
) -> float:
    """Estimate the memory of so many rows: columns, payloads, keys, and what Python adds to
    keys."""
    return rows * (estimated_row_bytes(start, bytes_per_payload) + _BYTES_PER_KEY) / 1e6


def estimated_row_bytes(
    start: Callable[[int], State], bytes_per_payload: int = BYTES_PER_PAYLOAD
) -> int:
    """Estimate the bytes of one row: columns and payloads, without its key."""
    payloads = sum(column.size for column in start(1).values() if column.dtype == object)
    return RowTable(start).bytes_per_row + payloads * bytes_per_payload

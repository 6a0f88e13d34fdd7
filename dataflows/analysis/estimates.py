"""Hold estimates with their bars, and whatever else a person must know of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fugu.dataflows.analysis.plotted import drawn
from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.base.visible import visible
from fugu.operators.estimates.model_check import ModelCheck

_SHOWN = 40


class ModelAlarm(UserWarning):
    """Warn that what was released does not agree with the model it was released under."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Hold a table of estimates, one row each, with the lower and the upper end of its bar.

    `notes` are sentences that go with the figures wherever they are shown; `check` compares what
    was released with the model, where there is one. The table is Arrow, which polars, pandas and
    DuckDB read as it is.
    """

    what: str
    table: pa.Table
    notes: tuple[str, ...]
    check: ModelCheck | None = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the table over to any library that reads Arrow."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        shown = self.table.slice(0, _SHOWN).to_pylist()
        names = self.table.column_names
        rows = [names, *([_cell(row[name]) for name in names] for row in shown)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(names))]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        more = [f"… {len(self.table) - _SHOWN:,} more"] * (len(self.table) > _SHOWN)
        return visible("\n".join([self.what, *lines, *more, *(f"- {note}" for note in self.notes)]))

    def __repr__(self) -> str:
        return str(self)

    def to_pandas(self) -> Any:
        """Return the table as a data frame of pandas."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """Return the table as a data frame of polars."""
        try:
            import polars
        except ImportError:
            raise CannotBeEstimated("to_polars: polars is not installed; .table is Arrow") from None
        return polars.from_arrow(self.table)

    def plot(self, axes: Any = None, *, only: Collection[object] = ()) -> list[Any]:
        """Draw estimates with their bars, and return the axes of matplotlib.

        Without time that is one, with a row for each symbol; over time there is one for each symbol
        or group, with a band. `only` names those that are drawn. `axes` draws into these.
        """
        return drawn(self.what, self.table, axes, only)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else visible(str(value))


def about_intervals(count: int, confidence: float, simultaneous: bool) -> Sequence[str]:
    """Say what several intervals hold together."""
    if count < 2:
        return ()
    if simultaneous:
        return (f"all {count:,} intervals hold together with {confidence:.0%} (Bonferroni)",)
    return (
        f"each of the {count:,} intervals holds by itself with {confidence:.0%}: about "
        f"{count * (1.0 - confidence):.2g} of them miss. simultaneous=True widens them so that all "
        "hold together",
    )


def level_of(count: int, confidence: float, simultaneous: bool) -> float:
    """Return the confidence of each interval."""
    if not 0.0 < confidence < 1.0:
        raise CannotBeEstimated(f"confidence: must be between 0 and 1, not {confidence}")
    return 1.0 - (1.0 - confidence) / max(1, count) if simultaneous else confidence

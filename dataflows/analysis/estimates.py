"""Hold estimates with their bars, say how far they lean on a model, and draw them."""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np
import pyarrow as pa

from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.base.install import install
from fugu.dataflows.base.printable import visible
from fugu.dataflows.publishing.promise import Promise
from fugu.operators.budget import without_budget
from fugu.operators.estimates.model_check import ModelCheck
from fugu.operators.mechanism import Array, Floats, Integers, Mechanism, RepeatingMechanism
from fugu.operators.sip.cold_start import ColdStart

_INK = "#1f6f8b"
_MOST_ROWS, _MOST_PANELS, _ABREAST = 40, 24, 3
_LABELS = ("symbol", "group")


def drawn(what: str, table: pa.Table, axes: Any, only: Collection[object]) -> list[Any]:
    """Draw a table of estimates, and return the axes of matplotlib: one, or one for each panel.

    Of very many symbols or groups the largest ones are drawn, where `only` names none.

    An estimate without a bar, as of a window with a single user, would look certain. It is left
    out, and the title says so.
    """
    label = next((name for name in _LABELS if name in table.column_names), None)
    parts: dict[object, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        parts.setdefault(None if label is None else row[label], []).append(row)
    parts = _chosen(parts, only)
    in_time = "start" in table.column_names
    most = _MOST_PANELS if in_time else _MOST_ROWS
    if len(parts) > most and axes is None:
        what = f"{what}: the largest {most} of {len(parts):,}"
        parts = dict(sorted(parts.items(), key=lambda part: -_mean(part[1]))[:most])
    without = sum(not _has_bar(row) for rows in parts.values() for row in rows)
    if without:
        what = f"{what}; {without:,} without a bar are not drawn"
    if not in_time:
        return [_rows(what, {name: rows[0] for name, rows in parts.items()}, axes)]
    return _panels(what, parts) if axes is None else [_lines(what, parts, axes)]


def _chosen(
    parts: dict[object, list[dict[str, Any]]], only: Collection[object]
) -> dict[object, list[dict[str, Any]]]:
    unknown = [name for name in only if name not in parts]
    if unknown:
        names = ", ".join(map(str, list(parts)[:_MOST_ROWS]))
        raise CannotBeEstimated(
            f"plot: only: {unknown[0]} is not in these estimates, which are about {names}"
        )
    return {name: parts[name] for name in only} if only else parts


def _mean(rows: list[dict[str, Any]]) -> float:
    """Return how large the estimates with a bar are."""
    known = [row["estimate"] for row in rows if _has_bar(row)]
    return sum(known) / len(known) if known else -inf


def _rows(what: str, rows: dict[object, dict[str, Any]], axes: Any) -> Any:
    """Draw one bar for each symbol, the first one on top."""
    if axes is None:
        size = (6.4, 1.2 + 0.24 * max(2, len(rows)))
        axes = _pyplot().subplots(figsize=size, layout="constrained")[1]
    low, middle, high = _ends(list(rows.values()))
    places = np.arange(len(rows))
    axes.hlines(places, low, high, color=_INK, alpha=0.3, linewidth=5.0, label="bar")
    axes.plot(middle, places, "o", color=_INK, markersize=4.5, label="estimate")
    axes.set_yticks(places, list(map(str, rows)))
    axes.yaxis.set_visible(None not in rows)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color="#e9ecef")
    _finish(axes, what)
    return axes


def _panels(what: str, parts: dict[object, list[dict[str, Any]]]) -> list[Any]:
    """Draw a panel for each symbol or group, with the same axes; of very many the largest ones."""
    columns = min(_ABREAST, max(1, len(parts)))
    lines = max(1, -(-len(parts) // columns))
    figure, grid = _pyplot().subplots(
        lines,
        columns,
        figsize=(3.2 * columns + 1.0, 1.9 * lines + 1.2),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    figure.suptitle(what, fontsize="medium")
    panels = list(grid.ravel())
    for panel in panels[len(parts) :]:
        panel.set_visible(False)
    for panel, (name, rows) in zip(panels, parts.items(), strict=False):
        _over_time(panel, rows, _INK, ("bar", "estimate", "measured then"))
        _finish(panel, "" if name is None else str(name))
    shown = panels[0].get_legend_handles_labels()
    figure.legend(*shown, loc="outside lower center", ncols=3, frameon=False)
    return panels[: len(parts)]


def _lines(what: str, parts: dict[object, list[dict[str, Any]]], axes: Any) -> Any:
    """Draw all symbols or groups into the same axes, each in a colour of its own."""
    for number, (name, rows) in enumerate(parts.items()):
        _over_time(axes, rows, f"C{number}", (None, None if name is None else str(name), None))
    if None not in parts:
        axes.legend(frameon=False)
    _finish(axes, what)
    return axes


def _over_time(
    panel: Any, rows: list[dict[str, Any]], ink: str, labels: tuple[str | None, ...]
) -> None:
    """Draw each estimate over its window, and dots where something was measured."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    starts = np.array([row["start"].replace(tzinfo=None) for row in rows], dtype="datetime64[ms]")
    low, middle, high = _ends(rows)
    steps = np.diff(starts)
    width = steps.min() if len(steps) else np.timedelta64(1, "m")
    measured = np.array([row.get("age") == 0 for row in rows])
    at, dots = starts[measured] + width / 2, middle[measured]
    gaps: Integers = np.flatnonzero(steps > width) + 1
    edges: Array = np.append(np.insert(starts, gaps, starts[gaps - 1] + width), starts[-1:] + width)
    low, middle, high = (np.insert(one, gaps, np.nan) for one in (low, middle, high))
    bar, estimate, then = labels
    panel.stairs(high, edges, baseline=low, fill=True, color=ink, alpha=0.3, lw=0, label=bar)
    panel.stairs(middle, edges, baseline=None, color=ink, lw=1.2, label=estimate)
    if measured.any() and not measured.all():
        panel.plot(at, dots, "o", color=ink, ms=3.0, label=then)
    locator = AutoDateLocator(maxticks=6)
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
    panel.grid(color="#e9ecef")


def _has_bar(row: dict[str, Any]) -> bool:
    """Return whether something bounds an estimate; nothing does where too few users are there."""
    return isfinite(row["low"]) and isfinite(row["high"])


def _ends(rows: Sequence[dict[str, Any]]) -> tuple[Floats, Floats, Floats]:
    """Return lower ends, estimates and upper ends; all are NaN where there is no bar."""
    there = np.array([_has_bar(row) for row in rows])
    low, middle, high = (
        np.where(there, np.array([row[name] for row in rows], dtype=np.float64), np.nan)
        for name in ("low", "estimate", "high")
    )
    return low, middle, high


def _finish(panel: Any, title: str) -> None:
    panel.set_title(title, fontsize="medium")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise CannotBeEstimated(f"plot: install matplotlib:  {install('analysis')}") from None
    return pyplot


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


_UNCHECKED = (
    "shares of {kind} lean on the model, and nothing here checks it: where it is wrong they are "
    "biased by an amount that bars do not show"
)
_LEARNED = (
    "{late:,} of {records:,} records came after their stream had learned a model of its own, and "
    "their shares lean on it. It is learned from noise, so it is never quite right, and nothing "
    "checks it: shares of rare symbols may come out too low, by an amount that bars do not show"
)


def about_model(
    check: ModelCheck | None,
    alphabet: Sequence[str | int],
    promise: Promise,
    mechanism: Mechanism,
    users: Integers,
) -> Sequence[str]:
    """Return what to know of the model behind estimates; an alarm is a warning, too."""
    inner = without_budget(mechanism)
    if check is None:
        if isinstance(inner, ColdStart):
            return _about_learned(inner, users)
        return (_UNCHECKED.format(kind=promise.law.kind),) if hasattr(inner, "model") else ()
    if not check.alarm:
        return (
            f"model check: no alarm over {check.symbols:,} released symbols (level "
            f"{check.level:.0%}); noise may hide that a model is wrong",
        )
    worst, names = check.deviations[0], [str(symbol) for symbol in alphabet]
    if isinstance(inner, RepeatingMechanism):
        names += [f"{symbol} again" for symbol in alphabet]
    names.append("the beginning of a stream")
    after = "" if worst.after is None else f" after {names[worst.after]}"
    text = (
        f"MODEL ALARM: releases do not agree with the model of {promise.pipeline}. "
        f"{names[worst.outcome]}{after} was released {worst.released:,.0f} times, and "
        f"the model expects {worst.expected:,.0f} (z = {worst.z:+.1f}, p = {worst.p:.1g}). Shares "
        "are biased by an amount that bars do not show, and more data does not remove: have a "
        "model learned from such users, or use a kind without a model"
    )
    warnings.warn(text, ModelAlarm, stacklevel=5)
    return (text,)


def _about_learned(cold: ColdStart, users: Integers) -> Sequence[str]:
    """Return how many records were released under learned models, if any were."""
    late = int(np.maximum(np.bincount(users) - cold.positions, 0).sum())
    return (_LEARNED.format(late=late, records=len(users)),) if late else ()

"""Gather where people were in a window, until stream time has passed it.

A quantum of time has one point of a person: the one of the latest record in event time, of two at
the same time the larger location, so that the order in which records arrive does not matter.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.ticks import CLOSED, NO_TICK, Passed, Ticks
from fugu.dataflows.records.visits import visit_of
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.stages.bounding import Bounding, cells_of
from fugu.dataflows.stages.window_people import (
    Point,
    WindowPeople,
    in_parts,
    later,
    read_points,
    written_points,
)
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Array, Integers, State


@dataclass(frozen=True)
class Gathering(Bounding[WindowPeople]):
    """Gather points of one partition's users, in a `quantum` of milliseconds one each.

    A window has `max_people` in this partition, and a person `max_points` in it: a record of one
    more is refused. So is one with another sensitive value than the person has in the window,
    unless `linked` windows have a record for each value of a person.
    """

    ticks: Ticks
    quantum: int
    max_people: int
    max_points: int
    linked: bool
    admission: Admission

    held: ClassVar[tuple[str, ...]] = ("points",)

    def start(self, rows: int) -> State:
        """Return the columns of fresh rows."""
        return window_cells(self.ticks, rows)

    def rest(self, partition: int, table: RowTable) -> list[WindowPeople]:
        """Return the people of all windows that are open, and close them: nothing more comes."""
        last = int(table.live("tick").max(initial=NO_TICK))
        if CLOSED not in table.clock:
            return []
        return self._close(
            partition, table, Passed(range(table.clock[CLOSED] + 1, last + 1), range(0))
        )

    def _note(
        self, table: RowTable, rows: Integers, cells: Integers, times: Integers, values: Array
    ) -> dict[int, Reason]:
        """Write points into their cells, in order; return the records that are refused."""
        refused: dict[int, Reason] = {}
        open_cells: dict[tuple[int, int], dict[int, Point]] = {}
        crowds: dict[int, int] = {}
        contents, names = table.columns["points"], table.columns["tick"]
        places = zip(rows.tolist(), cells.tolist(), times.tolist(), values.tolist(), strict=True)
        for number, (row, cell, time, value) in enumerate(places):
            tick, content = self.ticks.of(time), contents[row, cell]
            points = open_cells.get((row, cell))
            if points is None:
                there = content is not None and names[row, cell] == tick
                points = {point[0]: point for point in read_points(content)} if there else {}
            if not points:
                if cell not in crowds:
                    crowds[cell] = len(self._present(table, cell, tick))
                if crowds[cell] >= self.max_people:
                    refused[number] = Reason.TOO_MANY_PEOPLE
                    continue
            sensitive, location = visit_of(value)
            quantum = (time - tick * self.ticks.width) // self.quantum
            reason = self._refusal(points, quantum, sensitive)
            if reason is not None:
                refused[number] = reason
                continue
            if not points:
                crowds[cell] += 1
                names[row, cell] = tick
            point = (quantum, time, sensitive, location)
            points[quantum] = max(points.get(quantum, point), point, key=later)
            open_cells[row, cell] = points
        for (row, cell), points in open_cells.items():
            contents[row, cell] = written_points(points.values())
        table.touch(rows)
        return refused

    def _refusal(self, points: dict[int, Point], quantum: int, sensitive: int) -> Reason | None:
        if not self.linked and any(point[2] != sensitive for point in points.values()):
            return Reason.OTHER_SENSITIVE_VALUE
        if quantum not in points and len(points) >= self.max_points:
            return Reason.TOO_MANY_POINTS
        return None

    def _present(self, table: RowTable, cell: int, tick: int) -> Integers:
        """Return the rows of people who have points in a window."""
        rows: Integers = np.flatnonzero(table.live("tick")[:, cell] == tick)
        contents = table.live("points")[rows, cell].tolist()
        there: Integers = rows[np.array([content is not None for content in contents], dtype=bool)]
        return there

    def _of_tick(self, partition: int, table: RowTable, tick: int) -> list[WindowPeople]:
        columns, cell = table.columns, tick % self.ticks.open
        rows = self._present(table, cell, tick)
        people, points = list(table.keys_of(rows)), columns["points"][rows, cell].tolist()
        columns["points"][rows, cell] = None
        columns["tick"][rows, cell] = NO_TICK
        table.touch(rows)
        return in_parts(partition, tick, people, points)

    def _skipped(self, partition: int, ticks: range) -> WindowPeople:
        return WindowPeople(partition, ticks[-1], skipped=len(ticks) - 1)


def window_cells(ticks: Ticks, rows: int) -> State:
    """Return the columns of fresh rows."""
    return cells_of(ticks, rows, {"points": np.array(None, dtype=object)})

"""A mechanism and a row table whose work is counted while a whole stage runs."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Integers, Mechanism, State


@dataclass(frozen=True)
class Stopwatch:
    """CPU seconds by the name of a part, all threads together."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count what happens inside for `part`."""
        began = time.process_time()
        yield
        self.seconds[part] += time.process_time() - began


class WatchedMechanism:
    """The mechanism inside; its runs, or where it has none its steps, count for `part`."""

    def __init__(self, mechanism: Mechanism, watch: Stopwatch, part: str) -> None:
        self._mechanism, self._watch, self._part = mechanism, watch, part

    def __getattr__(self, name: str) -> Any:
        there = getattr(self._mechanism, name)
        if name not in ("run", "step"):
            return there

        def watched(*arguments: Any) -> Any:
            with self._watch.on(self._part):
                return there(*arguments)

        return watched


class WatchedTable(RowTable):
    """A row table; finding, reading and writing rows count for `part`."""

    def __init__(self, table: RowTable, watch: Stopwatch, part: str) -> None:
        self.__dict__.update(table.__dict__)
        self._watch, self._part = watch, part

    def known_rows(self, keys: Sequence[bytes]) -> Integers | None:
        """As the table does."""
        with self._watch.on(self._part):
            return super().known_rows(keys)

    def gather(self, rows: Integers) -> State:
        """As the table does."""
        with self._watch.on(self._part):
            return super().gather(rows)

    def scatter(self, rows: Integers, state: State) -> None:
        """As the table does."""
        with self._watch.on(self._part):
            super().scatter(rows, state)

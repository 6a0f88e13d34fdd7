"""Anonymise a window once all source partitions have told who was in it.

What is released is a function of the log's prefix alone: which partition wrote first never shows,
and a replay gives the same bytes. A partition that falls silent holds everybody up.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from fugu.dataflows.base.errors import FuguError, UnsafeRelease
from fugu.dataflows.stages.log_entries import Entry
from fugu.dataflows.stages.merging import OpenParts, Progress
from fugu.dataflows.stages.windows import AnonymousWindow, WindowPeople, WindowTable
from fugu.dataflows.state.row_block import read, written
from fugu.operators.anonymity.anonymization import AttackSucceeded
from fugu.operators.anonymity.knowledge import Infeasible, check_size
from fugu.operators.anonymity.windows import AnonymizedWindows, written_table
from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import DrawScope, tick_position

log = logging.getLogger(__name__)

WINDOWS = b"windows"
"""One stream of draws for all windows."""


class OpenWindows(OpenParts[WindowPeople]):
    """Keep people by window."""

    def __init__(self) -> None:
        super().__init__(WindowPeople.of)

    def add(self, part: WindowPeople) -> bool:
        """Keep a part, unless it is there; return whether those of its partition are complete."""
        there = {one.part for one in self.of(part.tick) if one.partition == part.partition}
        if part.people and part.part not in there:
            self.keep(part)
        return len(there | {part.part}) == part.parts


@dataclass
class AnonymizingState:
    """Hold how far partitions are, and the people of open windows, which have a log of their own.

    There is nothing else: a window has nothing to do with those before it.
    """

    progress: Progress = field(default_factory=Progress)
    open: OpenWindows = field(default_factory=OpenWindows)

    def encoded(self, people: str = "") -> bytes:
        """Return a block; `people` says where the people of open windows are."""
        return written({"people": people, **self.progress.plain()}, [])


@dataclass(frozen=True)
class Anonymizing:
    """Anonymise windows over all partitions of the topic identified by `source`."""

    mechanism: AnonymizedWindows
    scope: DrawScope
    source: str
    partitions: int

    def start(self) -> AnonymizingState:
        """Return the state in which nothing has been told yet."""
        return AnonymizingState()

    def restored(self, content: bytes, load: Callable[[str], OpenWindows]) -> AnonymizingState:
        """Return what `encoded` gave; `load` gives the people at their place."""
        header, _ = read(content)
        return AnonymizingState(Progress.of(header), load(header["people"]))

    def __call__(self, state: AnonymizingState, entry: Entry) -> Iterator[AnonymousWindow]:
        """Yield the windows that may be released now, in order; the entry is the next of the
        log."""
        if not isinstance(entry, WindowPeople):
            raise FuguError(
                "an entry of the internal log was not written by this pipeline; something else "
                "writes to it (sink.partials). Nothing was released from it."
            )
        progress = state.progress
        if progress.knows(entry.partition, entry.tick) or not state.open.add(entry):
            return
        progress.told(entry.partition, entry.tick, entry.skipped)
        while (tick := progress.next_of(self.partitions)) is not None:
            yield self._released(tick, WindowTable.of(state.open.take(tick)))
            progress.following = tick + 1

    def _released(self, tick: int, window: WindowTable) -> AnonymousWindow:
        payload = np.array([written_table(window.table)], dtype=object)
        draws = self.scope.draws([WINDOWS], [tick_position(self.source, tick)])
        try:
            _, releases = self.mechanism.step({}, Inputs(payload), draws)
        except AttackSucceeded as error:
            raise UnsafeRelease(str(error)) from None
        released = AnonymousWindow.of(tick, window, releases.values[0])
        if released.records is None:
            log.warning("window_suppressed: %s: %s", self._named(tick), self._why(window))
        return released

    def _named(self, tick: int) -> str:
        width = self.mechanism.tick_milliseconds
        if width is None:
            return f"window {tick}"
        return f"the window from {datetime.fromtimestamp(tick * width / 1000, UTC).isoformat()}"

    def _why(self, window: WindowTable) -> str:
        people, least = window.table.people, self.mechanism.min_people
        if people < least:
            return f"{people:,} people were in it, and at least {least:,} are to be (min_people)"
        try:
            check_size(window.table, self.mechanism.anonymization.limits)
        except Infeasible as error:
            return str(error)
        return (
            "no release of it keeps the bounds: a category has too large a share, or too few "
            "people share any point"
        )

"""Carry a copy with bytewax: one dataflow, whose parts follow the group and are never rebuilt.

    source ──▶ decode ──▶ sanitize ──▶ publish ──▶ writer

Every worker is a copy of its own. Steps are stateless for bytewax, and neither drop, split nor
reorder items: an item refers to the partition that it changes, which its copy owns. bytewax's
epochs and its recovery store are not used; a copy cuts between two polls.
"""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from fugu.dataflows.copies.copy import Copy
from fugu.dataflows.copies.owned import Taken
from fugu.dataflows.copies.transaction import Written
from fugu.dataflows.flows.plan import flow_name

EPOCH = timedelta(days=1)
"""Longer than anybody waits: an epoch would only make workers wait for each other."""
_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.002, 0.02
_AT_ONCE = datetime.fromtimestamp(0, UTC)

Item = tuple[Copy, Taken]
MakeCopies = Callable[[int, int], Sequence[Copy]]
"""Makes the copies of a worker, by its number and how many there are: of an aggregate, one bounds
and one merges what the group gives it."""


def dataflow_of(name: str, make: MakeCopies) -> Dataflow:
    """Return the dataflow of a copy, or of several, one for each worker."""
    flow = Dataflow(flow_name(name))
    items = op.input("source", flow, CopySource(make))
    decoded = op.map("decode", items, _decode)
    sanitized = op.map("sanitize", decoded, _sanitize)
    op.output("writer", op.map("publish", sanitized, _publish), CopySink())
    return flow


def _decode(item: Item) -> tuple[Item, Any]:
    copy, taken = item
    return item, copy.decoded(taken)


def _sanitize(decoded: tuple[Item, Any]) -> tuple[Item, Any]:
    (copy, taken), records = decoded
    return (copy, taken), copy.sanitized(taken, records)


def _publish(sanitized: tuple[Item, Any]) -> tuple[Item, Written]:
    (copy, taken), made = sanitized
    return (copy, taken), copy.published(made)


class CopySource(DynamicSource[Item]):
    """Make a copy for every worker."""

    def __init__(self, make: MakeCopies) -> None:
        self._make = make

    def build(self, step_id: str, worker_index: int, worker_count: int) -> "CopySourcePart":
        """Join the group."""
        return CopySourcePart(self._make(worker_index, worker_count))


class CopySourcePart(StatelessSourcePartition[Item]):
    """Read what copies own."""

    def __init__(self, copies: Sequence[Copy]) -> None:
        self._copies = [*copies]
        self._running = [*copies]
        for copy in copies:
            copy.beside = [other for other in copies if other is not copy]
        self._arrived = time.monotonic()
        self._found = False

    def next_batch(self) -> list[Item]:
        """Return the next items, with nothing on its way; end once all copies have.

        It is asked again at once while something comes, soon if nothing has come for long. Who is
        to take partitions over comes first, before others have something on its way again.
        """
        if not self._found:
            silence = (time.monotonic() - self._arrived) / 10
            time.sleep(min(max(_SHORTEST_PAUSE_SECONDS, silence), _LONGEST_PAUSE_SECONDS))
        in_turn = sorted(self._running, key=lambda copy: not copy.is_given)
        items = [(copy, taken) for copy in in_turn for taken in self._next_of(copy)]
        if not self._running:
            raise StopIteration
        self._found = bool(items)
        if items:
            self._arrived = time.monotonic()
        return items

    def _next_of(self, copy: Copy) -> list[Taken]:
        try:
            return copy.next_batch()
        except StopIteration:
            self._running.remove(copy)
            return []

    def next_awake(self) -> datetime:
        """Ask again at once: a later time would not come where the clock is set back before."""
        return _AT_ONCE

    def close(self) -> None:
        """Commit nothing: bytewax calls this after errors, too."""
        for copy in self._copies:
            copy.close()


class CopySink(DynamicSink[tuple[Item, Written]]):
    """Hand items to the copy that they came from."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> "CopySinkPart":
        """Return what writes for one worker."""
        return CopySinkPart()


class CopySinkPart(StatelessSinkPartition[tuple[Item, Written]]):
    """Write for one worker."""

    def write_batch(self, items: list[tuple[Item, Written]]) -> None:
        """Write in order."""
        for (copy, taken), written in items:
            copy.write(taken, written)

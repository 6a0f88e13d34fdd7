"""Run `fugu` with a clock on what the end of an epoch does: `python -m bench.latency.traced`.

    TRACE ARGUMENTS...

The arguments are those of `fugu`. TRACE is written when it stops: the milliseconds of each end of
an epoch, all of them and by part. An end lasts from the first snapshot of a source to the next
look at the source; what is no other part is bytewax and its recovery store.
"""

import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import Any

import orjson

from fugu.dataflows.commands.cli.fugu import main
from fugu.dataflows.kafka.native.writer import NativeWriter
from fugu.dataflows.kafka.sink import KafkaSinkPart
from fugu.dataflows.kafka.source import KafkaSourcePart
from fugu.dataflows.stages.stateful_step import Sanitize
from fugu.dataflows.state.row_log import BlockLog
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.writes_beside import WritesBeside

REST = "bytewax and its recovery store"
WHOLE = "end of an epoch"
COLLECTION = "garbage collection"
PARTS: list[tuple[type, str, str]] = [
    (NativeWriter, "flush", "waiting for acknowledgements"),
    (KafkaSinkPart, "write_batch", "writing the last records"),
    (Sanitize, "on_batch", "sanitizing the last records"),
    (RowTable, "take_changes", "making blocks"),
    (RowTable, "take_everything", "making blocks"),
    (BlockLog, "_write", "writing blocks, fsync"),
    (WritesBeside, "wait", "waiting for blocks"),
]


class Trace:
    """Hold times of the thread of one dataflow."""

    def __init__(self) -> None:
        self.ends: list[dict[str, float]] = []
        self.collections: list[float] = []
        self._began: float | None = None
        self._parts: defaultdict[str, float] = defaultdict(float)
        self._collecting = 0.0
        self._thread: int | None = None
        self._first: KafkaSourcePart | None = None

    def begin(self, part: KafkaSourcePart) -> None:
        """Note the first snapshot of an epoch's end."""
        if self._began is None:
            self._began, self._thread, self._first = time.perf_counter(), get_ident(), part

    def look(self, part: KafkaSourcePart) -> None:
        """Note that the part which was first is looked at again: the epoch has ended."""
        if self._began is None or part is not self._first:
            return
        whole = (time.perf_counter() - self._began) * 1e3
        known = sum(self._parts.values())
        self.ends.append({WHOLE: whole, **self._parts, REST: whole - known})
        self._began = None
        self._parts.clear()

    def add(self, part: str, seconds: float) -> None:
        """Count a part of an epoch's end."""
        if self._began is not None and get_ident() == self._thread:
            self._parts[part] += seconds * 1e3

    def collection(self, phase: str, info: dict[str, int]) -> None:
        """Time a garbage collection."""
        if phase == "start":
            self._collecting = time.perf_counter()
        else:
            if self.ends:
                self.collections.append((time.perf_counter() - self._collecting) * 1e3)


def watch(trace: Trace) -> None:
    """Put the clock on the parts."""
    for owner, method, part in PARTS:
        _replace(owner, method, partial(_timed, trace, part))
    _replace(KafkaSourcePart, "snapshot", partial(_first, trace.begin))
    _replace(KafkaSourcePart, "next_batch", partial(_first, trace.look))
    gc.callbacks.append(trace.collection)


def _replace(owner: type, method: str, made: Callable[[Any], Any]) -> None:
    setattr(owner, method, made(getattr(owner, method)))


def _timed(trace: Trace, part: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return original(*arguments)
        finally:
            trace.add(part, time.perf_counter() - began)

    return timed


def _first(
    first: Callable[[KafkaSourcePart], None], original: Callable[..., Any]
) -> Callable[..., Any]:
    def both(part: KafkaSourcePart) -> Any:
        first(part)
        return original(part)

    return both


if __name__ == "__main__":
    path = Path(sys.argv.pop(1))
    trace = Trace()
    watch(trace)
    try:
        main()
    finally:
        path.write_bytes(orjson.dumps({"ends": trace.ends, "collections": trace.collections}))

"""Check that neither a restart nor how records are cut into batches shows in what is published."""

import numpy as np

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.offline.auditing.audited import Check
from fugu.dataflows.offline.auditing.records.inputs import InputRecords
from fugu.dataflows.offline.auditing.records.worlds import ROOT, Running
from fugu.dataflows.offline.in_memory import InMemory

_STREAMS = 50
_AT_ONCE = 7


def restart_check(fresh: Running, steps: int) -> Check:
    """Publish the same streams twice, once with a restart in the middle and in small batches."""
    records = steps * fresh.subject.records
    keys = [b"%d" % stream for stream in range(_STREAMS)]
    values = np.random.default_rng(0).choice(fresh.subject.inputs, (records, _STREAMS))
    written, time = InputRecords(fresh.pipeline).written, fresh.time
    places = [place for place in range(records) for _ in keys]
    contents = [
        written(int(value), time(place), place)
        for place, value in zip(places, values.ravel(), strict=True)
    ]
    times = [time(place) for place in places]
    begun = (fresh.begun(ROOT.derive("restart"), keys) for _ in range(2))
    at_once, in_parts = begun
    whole = _published(at_once.feed(keys * records, contents, times))
    parts, half = list[Record](), len(places) // 2
    for first in range(0, len(places), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        if first <= half < first + _AT_ONCE:
            in_parts.restart()
        parts += _published(in_parts.feed((keys * records)[some], contents[some], times[some]))
    in_parts.restart()
    about = "after a restart, and cut into other batches, the same bytes are published"
    same = whole + _end(fresh, at_once) == parts + _end(fresh, in_parts)
    return Check(about, same, f"{_STREAMS} streams of {records} records")


Record = tuple[bytes | None, bytes, tuple[tuple[str, bytes], ...], int]
"""Key, value, headers and timestamp."""


def _end(fresh: Running, running: InMemory) -> list[Record]:
    end = fresh.pipeline.operator.finishing
    return [] if end is None else _published(running.finish(end))


def _published(out: Outgoing) -> list[Record]:
    headers = map(tuple, out.headers)
    return list(zip(out.keys, out.values, headers, out.timestamps, strict=True))

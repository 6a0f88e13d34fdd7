"""Check what holds in every single run of a pipeline that displaces values."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import orjson

from fugu.dataflows.offline.auditing.audited import ROOT, ROUNDING, Check
from fugu.dataflows.offline.auditing.displaced.worlds import OTHERS, begin_epoch, envelopes
from fugu.dataflows.offline.auditing.line import Line, Running
from fugu.dataflows.offline.auditing.restarts import restart_check
from fugu.operators.mechanism import Floats
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation

_STREAMS = 200
_MOST_SLOTS = 5_000_000
"""Bound the slots of all records together: a record takes a step over the window."""


def printed_law(mechanism: TemporalPerturbation, exact: Floats) -> Check:
    """Compare the law that is printed with the one that was found."""
    law = exact[: mechanism.k]
    off = float(np.abs(law / law.sum() - mechanism.delay_law).max())
    about = "delays have the law that is printed, every draw followed"
    return Check(about, off <= ROUNDING, f"largest difference {off:.1e}")


def checks_of(line: Line, mechanism: TemporalPerturbation) -> Iterator[Check]:
    """Run few streams through everything."""
    k = mechanism.k
    yield _nothing_but_values(_running(line, k, 2 * k, 2), 2 * k)
    yield restart_check(line, [[tick] * _streams(k, 3 * k) for tick in range(3 * k)])
    if line.ticks is not None and mechanism.empty == "emit":
        ticks = 3 * k + line.ticks.idle
        yield _end_of_epochs(_running(line, k, ticks, 4), k, ticks)


def _running(line: Line, k: int, ticks: int, number: int) -> Running:
    """Return streams in tick 1 of their first epoch, as many as can be run for so many ticks."""
    running = line.opened(ROOT.derive(number), _streams(k, ticks))
    begin_epoch(running)
    return running


def _streams(k: int, ticks: int) -> int:
    return max(2, min(_STREAMS, _MOST_SLOTS // (ticks * k)))


def _nothing_but_values(running: Running, ticks: int) -> Check:
    """Collect what is published beside values; of names that differ for each stream, lengths."""
    beside: dict[int, set[bytes]] = defaultdict(set)
    streams = len(running.keys)
    parts = [
        running.advance([f"{tick} of {stream}" for stream in range(streams)])
        for tick in range(ticks)
    ]
    for part in (*parts, running.finish()):
        for place, _, said in envelopes(running, part):
            rest = {name: said[name] for name in said.keys() - {"value", "empty"}}
            headers = [(name, len(text)) for name, text in part.headers[place]]
            record = (rest, part.timestamps[place], headers)
            beside[said["tick"]].add(orjson.dumps(record, option=orjson.OPT_SORT_KEYS))
    different = sum(len(records) > 1 for records in beside.values())
    return Check(
        "in a tick, records of streams with other values differ in values and empty ticks alone",
        different == 0,
        f"{streams} streams, {different} of {len(beside)} ticks differ",
    )


def _end_of_epochs(running: Running, k: int, ticks: int) -> Check:
    """Let streams fall silent at other ticks, and see how long they go on after a value left."""
    streams = len(running.keys)
    last, left = np.zeros(streams, dtype=np.int64), np.zeros(streams, dtype=np.int64)
    for tick in range(ticks):
        came = [OTHERS if tick <= k + stream % k else None for stream in range(streams)]
        for _, row, said in envelopes(running, running.advance(came)):
            last[row] = said["tick"]
            left[row] = left[row] if said["empty"] else said["tick"]
    quiet = np.unique(last - left).tolist()
    return Check(
        "an epoch ends so many ticks after its last value left, whenever that came",
        len(quiet) == 1,
        f"{streams} streams, {', '.join(map(str, quiet[:3]))} ticks",
    )

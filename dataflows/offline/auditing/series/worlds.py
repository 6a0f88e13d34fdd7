"""Run streams of numbers through everything, tick by tick."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.offline.auditing.audited import ROOT, Advance
from fugu.dataflows.offline.auditing.labels import label_beside
from fugu.dataflows.offline.auditing.line import Line, Running
from fugu.dataflows.offline.auditing.series.measured import Measured
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.realtime.local_release import LocalRealTimeRelease

_STREAMS_PER_SECRET = 2_000
_MEASURED, _EXHAUSTED = 1, 2
COLUMNS = 4
"""Count what is seen of a tick: value, standard error, what it is, and a label of all the rest."""


@dataclass(frozen=True)
class SeriesWorld:
    """Run streams that have these numbers, in units, and a restart in the middle."""

    line: Line
    numbers: tuple[int, ...]

    def seen(self, runs: int, seed: tuple[int, int], advance: Advance) -> Floats:
        """Return all releases, shape (runs, columns), and last the evidence that is in them."""
        mechanism = self.line.mechanism
        assert isinstance(mechanism, LocalRealTimeRelease)
        root, found = ROOT.derive(*seed), []
        for start in range(0, runs, _STREAMS_PER_SECRET):
            streams = min(_STREAMS_PER_SECRET, runs - start)
            running = self.line.opened(root.derive(start), streams)
            found.append(published(running, self.numbers, restart=len(self.numbers) // 2))
            advance(streams)
        seen = np.concatenate(found)
        middle = (mechanism.lower + mechanism.upper) / 2.0
        evidence = Measured.of(mechanism, *values_of(seen)).evidence(middle)
        return np.concatenate([seen, evidence[:, None]], axis=1)


def published(running: Running, numbers: Sequence[int | None], restart: int) -> Floats:
    """Return what readers see of streams that have these numbers, none where there is None."""
    parts = []
    for tick, number in enumerate(numbers):
        if tick == restart:
            running.restart()
        parts.append(readable(running, advanced(running, number)))
    return np.concatenate(parts, axis=1)


def advanced(running: Running, number: int | None) -> Outgoing:
    """Give all streams the same number of units, or none, and end the tick."""
    value = None if number is None else running.line.content(number)
    return running.advance([value] * len(running.keys))


def readable(running: Running, outgoing: Outgoing) -> Floats:
    """Return the release of each stream, NaN where there is none."""
    found = np.full((len(running.keys), COLUMNS), np.nan)
    records = zip(outgoing.keys, outgoing.values, outgoing.headers, strict=True)
    for key, content, headers in records:
        if key in running.rows:
            said = orjson.loads(content)
            error = said["standard_error"]
            status = _MEASURED * (said["status"] == "measured")
            status += _EXHAUSTED * said["budget_exhausted"]
            label = label_beside(said, "value", headers)
            row = said["value"], np.nan if error is None else error, status, label
            found[running.rows[key]] = row
    return found


def values_of(seen: Floats) -> tuple[Floats, Integers]:
    """Return published values, and 1 for each tick in which the streams were measured, else 0."""
    status = seen[:, 2::COLUMNS]
    measured = np.nan_to_num(status[0]).astype(np.int64) & _MEASURED
    return seen[:, ::COLUMNS][:, : len(measured)], measured

"""Turn a sample into what streams say tick by tick: a symbol, or that they are absent.

The very stage of `fugu run` closes the ticks, so that late records, several in a tick and the ends
of lives count as they do there.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Decoded
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.offline.evaluation.run import (
    RECORDS_PER_BATCH,
    batches,
    everybody,
    refused_in,
    scope_of,
    secret_of,
)
from fugu.dataflows.offline.evaluation.sample import Sample, ticks_in
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.stages.reports import ReportsPerTick
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Array, Releases, State
from fugu.operators.wevent_local.window_reports import WindowReports


@dataclass(frozen=True)
class _Watched(ReportsPerTick):
    """Publish what came, as no pipeline does."""

    said: ClassVar[tuple[str, ...]] = ()

    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        came = Releases(np.where(there, values, self.mechanism.symbols))
        return {**state, **self._grown(state)}, came


def sample_in_ticks(
    sample: Sample, pipeline: Pipeline, mechanism: WindowReports, ticks: Ticks
) -> Sample:
    """Return a sample with a record for each tick of each stream, from its first one on.

    Absence is the value behind the last symbol. Refused lines stay what they are.
    """
    scope = scope_of(pipeline, mechanism.kind, mechanism, secret_of(0, 0))
    topic = pipeline.source.topic
    lift = _Watched(mechanism, scope, topic, everybody(sample), ticks_in(sample, ticks))
    table = RowTable(lift.start)
    parts = [lift(part, table) for part in batches(sample.decoded, RECORDS_PER_BATCH)]
    dead = DeadLetters()
    for refused in (sample.decoded.dead, refused_in(parts)):
        dead.extend(refused)
    keys = [key for part in parts for key in part.keys]
    times = [time for part in parts for time in part.timestamps]
    values = np.concatenate([part.releases.values.astype(np.int64) for part in parts])
    known = dict(zip(sample.decoded.keys, sample.streams.tolist(), strict=True))
    streams = np.array([known[key] for key in keys], dtype=np.int64)
    numbers = list(range(1, len(keys) + 1))
    decoded = Decoded(0, numbers, times, keys, values, None, dead.in_order())
    return replace(sample, decoded=decoded, streams=streams)

"""Run a temporal operator over the sample: at which tick each value came, and left.

Operators of this family do not look at values. So the number of each record goes through the very
lift of `fugu run` in place of its value, and tells whose value it is when it comes out. The first
window of an epoch and empty ticks are shown here even if the pipeline does not publish them, which
changes no delay.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.run import (
    RECORDS_PER_BATCH,
    Advance,
    batches,
    everybody,
    refused_in,
    scope_of,
)
from fugu.dataflows.offline.evaluation.sample import Sample, ticks_in
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.mechanisms import deduplication_of
from fugu.dataflows.stages.displaced import PayloadsPerTick
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import ByteColumn, joined, taken
from fugu.operators.mechanism import Array, Integers, Releases, State
from fugu.operators.randomness import Secret
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation


@dataclass(frozen=True, eq=False)
class Displaced:
    """Hold every tick of every stream, stream by stream and in order.

    `ticks` counts those of a stream, or of event time; `numbers` those of an epoch, from 1. `held`
    and `released` are indices into the sample of the record whose value came, and of the one whose
    value left, -1 for none. `dead` holds what the lift refused.
    """

    streams: Integers
    ticks: Integers
    numbers: Integers
    held: Integers
    released: Integers
    dead: DeadLetters

    @property
    def first(self) -> Integers:
        """Return where the stream of each tick begins."""
        begins = np.flatnonzero(np.diff(self.streams, prepend=-1))
        return np.repeat(begins, np.diff(begins, append=len(self.streams)))

    def whole_windows(self, k: int) -> NDArray[np.bool_]:
        """Mark ticks at which a value came whose last possible tick is in the run too."""
        begins = np.flatnonzero(self.numbers == 1)
        lengths = np.diff(begins, append=len(self.numbers))
        return (self.held >= 0) & (self.numbers + k - 1 <= np.repeat(lengths, lengths))


def displaced(
    candidate: Candidate,
    pipeline: Pipeline,
    sample: Sample,
    secret: Secret,
    advance: Advance = lambda records: None,
    batch: int = RECORDS_PER_BATCH,
) -> Displaced:
    """Run the candidate over the sample; `advance` is told how many records are done."""
    assert isinstance(candidate.mechanism, TemporalPerturbation)
    mechanism = replace(candidate.mechanism, warm_up="emit", empty="emit")
    scope = scope_of(pipeline, mechanism.kind, mechanism, secret)
    ticks = pipeline.operator.in_ticks()
    numbered = _numbered(sample, lists=ticks is not None and ticks.several == "list")
    common = (mechanism, scope, pipeline.source.topic, everybody(sample))
    in_order = PerRecord(*common, deduplication_of(pipeline))
    lift = in_order if ticks is None else _Watched(*common, ticks_in(sample, ticks))
    table, parts = RowTable(lift.start), []
    for part in batches(numbered, batch):
        parts.append(lift(part, table))
        advance(len(part.offsets))
    if ticks is not None:
        parts.append(lift.finish(0, table, "discard"))
    rows = dict(zip(sample.decoded.keys, sample.streams.tolist(), strict=True))
    streams = np.array([rows[key] for part in parts for key in part.keys], dtype=np.int64)
    offsets = np.array([offset for part in parts for offset in part.offsets], dtype=np.int64)
    order = np.lexsort((offsets, streams))
    offsets, notes = offsets[order], taken(joined([p.releases.annotations for p in parts]), order)
    released = np.concatenate([part.releases.values for part in parts])[order]
    if ticks is None:
        came = _records(numbered.values[np.searchsorted(numbered.offsets, offsets)])
        offsets = notes["tick"] - 1
    else:
        came = notes["came"]
    dead = refused_in(parts)
    return Displaced(streams[order], offsets, notes["tick"], came, _records(released), dead)


class _Watched(PayloadsPerTick):
    """Say beside each release which value came, as no pipeline does."""

    said = (*PayloadsPerTick.said, "came")

    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        after, releases = super()._step(state, values, there, names, position)
        notes = {**releases.annotations, "came": _records(values)}
        return after, replace(releases, annotations=notes)


def _numbered(sample: Sample, lists: bool) -> Decoded:
    """Leave a record without a value so, but for lists, in which it has a place."""
    numbers = [
        None if value is None and not lists else b"%d" % number
        for number, value in enumerate(sample.decoded.values.tolist())
    ]
    return replace(sample.decoded, values=np.array(numbers, dtype=object))


def _records(payloads: Array) -> Integers:
    """Read the number of each record; of a list, the first; -1 for nothing."""
    numbers = [
        -1 if payload is None else int(payload.strip(b"[]").split(b",")[0])
        for payload in payloads.tolist()
    ]
    return np.array(numbers, dtype=np.int64)

"""Run a temporal operator over the sample: at which tick each value came, and left.

Operators of this family do not look at values. So the number of each record goes through the very
lift of `fugu run` in place of its value, and tells whose value it is when it comes out. The first
window of an epoch and empty ticks are shown here even if the pipeline does not publish them, which
changes no delay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded, Sanitized
from fugu.dataflows.base.ticks import Ticks
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
from fugu.operators.mechanism import Array, Integers
from fugu.operators.secret import Secret
from fugu.operators.temporal.temporal_perturbation import Phase, TemporalPerturbation


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
    declared = pipeline.operator.in_ticks()
    ticks = None if declared is None else ticks_in(sample, declared)
    common = (mechanism, scope, pipeline.source.topic, everybody(sample))
    plain = PerRecord(*common, deduplication_of(pipeline))
    lift = plain if ticks is None else PayloadsPerTick(*common, ticks)
    table, parts = RowTable(lift.start), []
    for part in batches(_numbered(sample, ticks), batch):
        parts.append(lift(part, table))
        advance(len(part.offsets))
    parts.append(lift.finish(0, table, "drain"))
    return _displaced(sample, parts, ticks)


def _numbered(sample: Sample, ticks: Ticks | None) -> Decoded:
    """Leave a record without a value so, but for lists, in which it has a place."""
    values = sample.decoded.values
    lists = ticks is not None and ticks.several == "list"
    numbers = [
        None if value is None and not lists else b"%d" % number
        for number, value in enumerate(values.tolist())
    ]
    return replace(sample.decoded, values=np.array(numbers, dtype=object))


def _displaced(sample: Sample, parts: Sequence[Sanitized], ticks: Ticks | None) -> Displaced:
    dead = refused_in(parts)
    accepted = np.flatnonzero(~np.isin(sample.decoded.offsets, dead.offsets))
    came = _ticks_of_records(sample, accepted, ticks)
    steady = [part.releases.annotations["phase"] != Phase.COOL_DOWN for part in parts]

    def column(per_part: list[Array]) -> Array:
        shown = [content[mask] for content, mask in zip(per_part, steady, strict=True)]
        return np.concatenate(shown)

    numbers = dict(zip(sample.decoded.keys, sample.streams.tolist(), strict=True))
    streams = column([np.array([numbers[k] for k in part.keys], dtype=np.int64) for part in parts])
    offsets = column([np.array(part.offsets, dtype=np.int64) for part in parts])
    if ticks is None:
        offsets = came[np.searchsorted(sample.decoded.offsets, offsets)]
    released = column([_records(part.releases.values) for part in parts])
    counted = column([part.releases.annotations["tick"] for part in parts])
    order = np.lexsort((offsets, streams))
    held = _held(sample, accepted, came, ticks)
    cells = zip(streams[order].tolist(), offsets[order].tolist(), strict=True)
    return Displaced(
        streams[order],
        offsets[order],
        counted[order],
        np.array([held.get(cell, -1) for cell in cells], dtype=np.int64),
        released[order],
        dead,
    )


def _ticks_of_records(sample: Sample, accepted: Integers, ticks: Ticks | None) -> Integers:
    """Return the tick of each accepted record; 0 for others."""
    came = np.zeros(sample.records, dtype=np.int64)
    if ticks is not None:
        came[:] = [ticks.of(time) for time in sample.decoded.timestamps]
        return came
    streams = sample.streams[accepted]
    order = np.argsort(streams, kind="stable")
    begins = np.flatnonzero(np.diff(streams[order], prepend=-1))
    before = np.repeat(begins, np.diff(begins, append=len(order)))
    came[accepted[order]] = np.arange(len(order)) - before
    return came


def _held(
    sample: Sample, accepted: Integers, came: Integers, ticks: Ticks | None
) -> dict[tuple[int, int], int]:
    """Return the record that counts in each tick of a stream; -1: one without a value."""
    held: dict[tuple[int, int], int] = {}
    first = ticks is not None and ticks.several != "last"
    lists = ticks is not None and ticks.several == "list"
    values = sample.decoded.values
    for record in accepted.tolist():
        cell = int(sample.streams[record]), int(came[record])
        if not (first and cell in held):
            held[cell] = record if lists or values[record] is not None else -1
    return held


def _records(payloads: Array) -> Integers:
    """Read the number of each record; of a list, the first; -1 for nothing."""
    return np.array(
        [
            -1 if payload is None else int(payload.lstrip(b"[").rstrip(b"]").split(b",")[0])
            for payload in payloads.tolist()
        ],
        dtype=np.int64,
    )

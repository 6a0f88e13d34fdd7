"""Run a sample through the very lift of `fugu run`, under a secret that is not its own."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded, RefusedRecords, Sanitized
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.mechanisms import deduplication_of
from fugu.dataflows.stages.per_record import PerRecord, exhaustible
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import joined, taken
from fugu.operators.mechanism import Array, Floats, Integers, Kind, Mechanism, Releases
from fugu.operators.randomness import DrawScope, Secret

_ROOT = Secret(blake2b(b"fugu evaluate", digest_size=32).digest())
"""Known to everybody; nothing that is drawn from it is published."""
RECORDS_PER_BATCH = 10_000

Advance = Callable[[int], None]
"""Takes how much more is done, in records or ticks."""


@dataclass(frozen=True, eq=False)
class Run:
    """Hold what became of the sample.

    `records` are indices into the sample of those a release was due for. `releases` belong to
    them, in the same order; where nothing was published their kind is `SUPPRESSED` and their value
    0. `spent` is in units, by stream; `dead` holds what the lift refused. `held_back` records are
    waiting, at the end of the sample, for the rest of their list.
    """

    records: Integers
    releases: Releases
    spent: Integers | None
    dead: DeadLetters
    held_back: int = 0

    @property
    def kinds(self) -> Integers:
        """Return what each release is."""
        assert self.releases.kinds is not None
        return self.releases.kinds

    @property
    def published(self) -> NDArray[np.bool_]:
        """Mark where something was published."""
        return np.asarray(self.kinds != Kind.SUPPRESSED)

    @property
    def confidences(self) -> Floats:
        """Return NaN where nothing is said about the truth."""
        nothing = np.full(len(self.records), np.nan)
        return np.asarray(self.releases.annotations.get("confidence", nothing))

    @property
    def confident(self) -> NDArray[np.bool_]:
        """Mark where something is said."""
        return ~np.isnan(self.confidences)

    def of(self, chosen: NDArray[np.bool_]) -> "Run":
        """Keep these records only, with all that was spent."""
        notes = taken(self.releases.annotations, chosen)
        releases = Releases(self.releases.values[chosen], notes, self.kinds[chosen])
        return replace(self, records=self.records[chosen], releases=releases)


def secret_of(seed: int, run: int) -> Secret:
    """Return the secret of one run."""
    return _ROOT.derive(seed, run)


def scope_of(pipeline: Pipeline, kind: str, mechanism: Mechanism, secret: Secret) -> DrawScope:
    """Return the scope in which a running pipeline would draw."""
    return DrawScope(secret, pipeline.name, kind, pipeline.version, mechanism.law_digest())


def everybody(sample: Sample) -> Admission:
    """Admit every stream of the sample."""
    return Admission("unchecked", partitions=1, max_keys=sample.stream_count)


def released(
    candidate: Candidate,
    pipeline: Pipeline,
    sample: Sample,
    secret: Secret,
    advance: Advance = lambda records: None,
    batch: int = RECORDS_PER_BATCH,
) -> Run:
    """Run the candidate over the sample; `advance` is told how many records are done."""
    mechanism = candidate.mechanism
    scope = scope_of(pipeline, candidate.kind, mechanism, secret)
    topic, deduplication = pipeline.source.topic, deduplication_of(pipeline)
    lift = PerRecord(mechanism, scope, topic, everybody(sample), deduplication)
    table = RowTable(lift.start, exhaustible(mechanism))
    parts = []
    for part in batches(sample.decoded, batch):
        parts.append(lift(part, table))
        advance(len(part.offsets))
    columns = lift.start(0)
    return _run(
        sample,
        parts,
        table.column("spent") if "spent" in columns else None,
        int(table.column("held").sum()) if "held" in columns else 0,
    )


def batches(decoded: Decoded, size: int) -> Iterator[Decoded]:
    """Yield so many accepted records at a time, with the refused ones that came between."""
    refused, at = decoded.refused, 0
    for start in range(0, len(decoded.offsets), size):
        chosen = np.arange(start, min(start + size, len(decoded.offsets)))
        rest = decoded.offsets[start + size : start + size + 1]
        end = bisect_left(refused.offsets, rest[0]) if rest else len(refused.offsets)
        between, at = slice(at, end), end
        came = refused.offsets[between], refused.timestamps[between], refused.keys[between]
        records = decoded.at(chosen)
        yield replace(records, dead=DeadLetters(), refused=RefusedRecords(*came))


def refused_in(parts: Sequence[Sanitized]) -> DeadLetters:
    """Collect what the lift refused."""
    dead = DeadLetters()
    for part in parts:
        dead.extend(part.dead)
    return dead


def _run(sample: Sample, parts: list[Sanitized], spent: Integers | None, held_back: int) -> Run:
    lines, dead = np.array(sample.decoded.offsets), refused_in(parts)
    records = np.flatnonzero(~np.isin(lines, dead.offsets))
    published = np.concatenate([np.array(part.offsets, dtype=np.int64) for part in parts])
    where = np.searchsorted(lines[records], published)
    values = np.concatenate([part.releases.values for part in parts])
    kinds = np.concatenate([part.releases.kinds for part in parts])
    notes = joined([part.releases.annotations for part in parts])

    def aligned(found: Array, nothing: float, dtype: DTypeLike) -> Array:
        everywhere = np.full((len(records), *found.shape[1:]), nothing, dtype=dtype)
        everywhere[where] = found
        return everywhere

    releases = Releases(
        aligned(values, 0, values.dtype),
        {name: aligned(note, np.nan, np.float64) for name, note in notes.items()},
        aligned(kinds, Kind.SUPPRESSED, np.int64),
    )
    return Run(records, releases, spent, dead, held_back)

"""Measure every part between the two clients, in CPU microseconds per record.

Batches go through the stages of a run in one process, without Kafka. `lift` and `publish` are whole
stages; the parts of the first are counted while it runs, those of the second done once more. What
the parts leave over is building columns and headers. Beside what is done per batch, a plain loop
over the same records does the same for one after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from bench import per_record
from bench.watched import Stopwatch, WatchedMechanism, WatchedTable
from fugu.dataflows.base.batches import Batch
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.publishing.envelope import Pseudonyms
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state.row_table import RowTable

DECODE = "codec: decode"
LIFT = "lift as a whole"
ROWS = "row table: find, gather, scatter"
MECHANISM = "mechanism: words, law, draw, belief"
PUBLISH = "publish as a whole"
ENCODE = "codec: encode"
IDS = "hashing: release ids"
PSEUDONYMS = "hashing: pseudonyms, known users"

PARTS_OF_STAGES: dict[str, tuple[str, ...]] = {
    DECODE: (),
    LIFT: (ROWS, MECHANISM),
    PUBLISH: (ENCODE, IDS, PSEUDONYMS),
}
BY_LOOP = {part: f"{part}, in a plain loop" for part in (DECODE, ENCODE, IDS, PSEUDONYMS)}
_NEW_PSEUDONYMS = "hashing: pseudonyms of new users"
_EPOCH = "state: one epoch"
_PASSES = 3


@dataclass(frozen=True)
class Parts:
    """Microseconds per record by part and per new user; milliseconds per epoch and partition.

    `in_loops` is what some parts cost in a plain loop.
    """

    users: int
    records: int
    per_record: dict[str, float]
    in_loops: dict[str, float]
    per_new_user: float
    per_epoch: float


def measure_parts(plan: StreamsPlan, users: Sequence[bytes], batches: Sequence[Batch]) -> Parts:
    """Medians of a few passes over batches of one partition, all of whose users are known."""
    passes = [_one_pass(plan, users, batches).seconds for _ in range(_PASSES)]
    seconds = {part: median(one[part] for one in passes) for part in passes[0]}
    records = sum(len(batch.offsets) for batch in batches)
    return Parts(
        users=len(users),
        records=records,
        per_record={
            part: seconds[part] / records * 1e6
            for stage, parts in PARTS_OF_STAGES.items()
            for part in (stage, *parts)
        },
        in_loops={part: seconds[name] / records * 1e6 for part, name in BY_LOOP.items()},
        per_new_user=seconds[_NEW_PSEUDONYMS] / len(users) * 1e6,
        per_epoch=seconds[_EPOCH] * 1e3,
    )


def lift_of(plan: StreamsPlan, mechanism: Any) -> PerRecord:
    """The lift of the dataflow, with this mechanism."""
    assert isinstance(plan.stage, PerRecord)
    return replace(plan.stage, mechanism=mechanism)


def _one_pass(plan: StreamsPlan, users: Sequence[bytes], batches: Sequence[Batch]) -> Stopwatch:
    watch = Stopwatch()
    known = plan.publisher.pseudonyms
    publisher = replace(plan.publisher, pseudonyms=Pseudonyms(known.secret, known.sink))
    with watch.on(_NEW_PSEUDONYMS):
        known_users = dict(zip(users, publisher.pseudonyms.of_each(users), strict=True))
    lift = lift_of(plan, WatchedMechanism(plan.stage.mechanism, watch, MECHANISM))
    table = RowTable(lift.start)
    table.rows_of(users)
    table = WatchedTable(table, watch, ROWS)
    for batch in batches:
        with watch.on(DECODE):
            decoded = plan.codec.decode(batch)
        with watch.on(LIFT):
            sanitized = lift(decoded, table)
        with watch.on(PUBLISH):
            publisher.releases(sanitized)
        with watch.on(ENCODE):
            publisher.codec.encode(sanitized.releases)
        with watch.on(IDS):
            publisher.scope.release_ids(
                "release", publisher.source, sanitized.partition, sanitized.offsets
            )
        with watch.on(PSEUDONYMS):
            publisher.pseudonyms.of_each(sanitized.keys)
        with watch.on(BY_LOOP[DECODE]):
            per_record.decode(plan.codec, batch)
        with watch.on(BY_LOOP[ENCODE]):
            per_record.encode(plan.codec.domain.field, sanitized)
        with watch.on(BY_LOOP[IDS]):
            per_record.release_ids(publisher.scope, publisher.source, sanitized)
        with watch.on(BY_LOOP[PSEUDONYMS]):
            per_record.pseudonyms(known_users, sanitized)
    with watch.on(_EPOCH):
        table.take_everything()
    return watch

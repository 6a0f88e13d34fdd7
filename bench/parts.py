"""What every part between the two clients costs, in CPU microseconds per record.

Batches go through the stages of a run in one process, without Kafka. `lift` and `publish` are whole
stages; their parts are replayed one by one from what was recorded on the way. What the parts leave
over is building columns and headers, and putting releases back into input order. Beside what is
done per batch, a plain loop over the same records does the same for one after the other.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import median

from bench import per_record
from bench.recorded import Recording, Step
from dataflows.batches import Batch, Decoded
from dataflows.flow import Plan
from dataflows.lift import Lift
from dataflows.publish import Pseudonyms
from dataflows.state.row_table import RowTable
from operators.mechanism import Mechanism
from operators.randomness import record_positions
from operators.runs import rounds_of_distinct_rows

DECODE = "codec: decode"
LIFT = "lift as a whole"
ROUNDS = "rounds of distinct rows"
ROWS = "row table: find, gather, scatter"
WORDS = "hashing: words"
KERNEL = "kernel: step without its draws"
PUBLISH = "publish as a whole"
ENCODE = "codec: encode"
IDS = "hashing: release ids"
PSEUDONYMS = "hashing: pseudonyms, known users"

PARTS_OF_STAGES: dict[str, tuple[str, ...]] = {
    DECODE: (),
    LIFT: (ROUNDS, ROWS, WORDS, KERNEL),
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


@dataclass(frozen=True)
class Stopwatch:
    """CPU seconds by the name of a part."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count what happens inside for `part`."""
        began = time.process_time()
        yield
        self.seconds[part] += time.process_time() - began


def measure_parts(plan: Plan, users: Sequence[bytes], batches: Sequence[Batch]) -> Parts:
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


def lift_of(plan: Plan, mechanism: Mechanism) -> Lift:
    """The lift of the dataflow, with this mechanism."""
    source = plan.fingerprint.source_identity
    return Lift(mechanism, plan.scope, source, plan.admission, plan.deduplication)


def _one_pass(plan: Plan, users: Sequence[bytes], batches: Sequence[Batch]) -> Stopwatch:
    watch = Stopwatch()
    known = plan.publisher.pseudonyms
    publisher = replace(plan.publisher, pseudonyms=Pseudonyms(known.secret, known.sink))
    with watch.on(_NEW_PSEUDONYMS):
        known_users = dict(zip(users, publisher.pseudonyms.of_each(users), strict=True))
    recording = Recording(plan.mechanism)
    lift, recorder = lift_of(plan, plan.mechanism), lift_of(plan, recording)
    table, recorded = RowTable(lift.start), RowTable(recorder.start)
    table.rows_of(users)
    recorded.rows_of(users)
    for batch in batches:
        with watch.on(DECODE):
            decoded = plan.codec.decode(batch)
        with watch.on(LIFT):
            sanitized = lift(decoded, table)
        with watch.on(PUBLISH):
            publisher.releases(sanitized)
        recorder(decoded, recorded)
        _replay_lift(lift, recorded, decoded, recording.steps, watch)
        recording.steps.clear()
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


def _replay_lift(
    lift: Lift, table: RowTable, decoded: Decoded, steps: list[Step], watch: Stopwatch
) -> None:
    known_draws = [step.known_draws for step in steps]
    with watch.on(ROWS):
        rows = table.rows_of(decoded.keys)
    with watch.on(ROUNDS):
        rounds = list(rounds_of_distinct_rows(rows))
    with watch.on(ROWS):
        for index, step in zip(rounds, steps, strict=True):
            table.gather(rows[index])
            table.scatter(rows[index], step.after)
    with watch.on(WORDS):
        record_positions(lift.source, decoded.partition, decoded.offsets)
        for step in steps:
            draws = lift.scope.draws(step.keys, step.positions)
            for call in step.calls:
                call.ask(draws)
    with watch.on(KERNEL):
        for step, draws_of_step in zip(steps, known_draws, strict=True):
            lift.mechanism.step(step.before, step.inputs, draws_of_step)

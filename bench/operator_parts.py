"""Measure what a record costs in local operators, part by part, as `python -m bench peers` does.

Batches of one partition, in columns as the librdkafka client reads them, go through codec, lift and
publisher in one process, without Kafka, and what changed in the state is written after some of
them. The step is the part of the lift that is the mechanism's own; an operator that runs has none.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.comparison.contestants import FUGU, OPERATORS, Fugu, Place
from bench.comparison.data import ALPHABET, TICK_MILLISECONDS, stream_of, write_model
from bench.stream import Stream, in_columns, key_of
from bench.watched import Stopwatch
from fugu.dataflows.base.batches import Batch
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import columns_of, configure
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.run.causes import collect_garbage_seldom
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.stages.series import SeriesPerTick
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Mechanism
from fugu.operators.multi_step import running
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.realtime.local_release import LocalRealTimeRelease

DECODE, LIFT, STEP, PUBLISH, STATE = "decode", "lift", "of which step", "publish", "state"
PARTS = (DECODE, LIFT, STEP, PUBLISH, STATE)
USERS, RECORDS = 2_500, 5_000
_WARM, _MEASURED, _WRITTEN_AFTER = 12, 20, 10
_SECRET = Secret(bytes(32))


@dataclass(frozen=True)
class PartCost:
    """Hold CPU microseconds per record."""

    operator: str
    microseconds: dict[str, float]


def measure_operator_parts(say: Callable[[str], None]) -> list[PartCost]:
    """`crr`, then all others."""
    collect_garbage_seldom()
    costs, stream = [], stream_of(USERS, 1)
    for contestant in (FUGU, *OPERATORS):
        assert isinstance(contestant, Fugu)
        say(f"{contestant.title}, part by part")
        costs.append(PartCost(contestant.title, measure_parts(contestant, stream)))
    return costs


def measure_parts(contestant: Fugu, stream: Stream) -> dict[str, float]:
    """Measure the CPU microseconds per record of each part."""
    with TemporaryDirectory(prefix="fugu-bench-") as name:
        folder = Path(name)
        model = write_model(folder, ALPHABET)
        contestant.command(Path(), Place("localhost:9092", "raw", "sanitized", model, folder))
        file = PipelineFile.read(folder / "pipeline.yaml")
        configured, ticks = configure(file), file.pipeline.operator.in_ticks()
    watch = Stopwatch()
    mechanism = configured.mechanism
    scope = DrawScope(_SECRET, "bench", mechanism.kind, 1, mechanism.law_digest())
    admission = Admission("unchecked", 1, USERS)
    if running(mechanism) is None:
        mechanism = _timed(mechanism, watch)
    lift: PerRecord | SeriesPerTick = PerRecord(mechanism, scope, "source", admission)
    if ticks is not None:
        assert isinstance(mechanism, LocalRealTimeRelease)
        lift = SeriesPerTick(mechanism, scope, "source", admission, ticks)
    table = RowTable(columns_of(file.pipeline, configured.mechanism))
    publisher = Publisher(
        codec=configured.codec,
        scope=scope,
        source="source",
        source_topic="raw",
        guarantee_id=bytes(16),
        key_policy="pseudonym",
        pseudonyms=Pseudonyms(_SECRET, "sanitized"),
    )
    for number, batch in enumerate(map(in_columns, _batches(stream, contestant.in_ticks))):
        if number == _WARM:
            watch.seconds.clear()
        with watch.on(DECODE):
            decoded = configured.codec.decode(batch)
        with watch.on(LIFT):
            sanitized = lift(decoded, table)
        with watch.on(PUBLISH):
            publisher.releases(sanitized)
        if number % _WRITTEN_AFTER == 0:
            with watch.on(STATE):
                table.take_changes()
    return {part: spent / (_MEASURED * RECORDS) * 1e6 for part, spent in watch.seconds.items()}


def _batches(stream: Stream, in_ticks: bool) -> list[Batch]:
    """Return batches of random users, or of every user once in each tick."""
    count = _WARM + _MEASURED
    if not in_ticks:
        return stream.batches(count, RECORDS)
    batches = []
    for number in range(count):
        ticks = [2 * number, 2 * number + 1]
        sent = [record for tick in ticks for record in islice(stream.one_each(tick), USERS)]
        times = [tick * TICK_MILLISECONDS for tick in ticks for _ in range(USERS)]
        offsets = list(range(number * RECORDS, (number + 1) * RECORDS))
        keys: list[bytes | None] = [key_of(user) for user, _ in sent]
        values: list[bytes | None] = [value for _, value in sent]
        batches.append(Batch(0, offsets, times, keys, values, [[] for _ in sent]))
    return batches


def _timed(mechanism: Mechanism, watch: Stopwatch) -> Mechanism:
    """Return the same mechanism, whose steps are counted."""
    plain: Any = type(mechanism)

    def step(self: Any, *arguments: Any) -> Any:
        with watch.on(STEP):
            return plain.step(self, *arguments)

    timed = copy(mechanism)
    object.__setattr__(timed, "__class__", type("Timed", (plain,), {"step": step}))
    return timed

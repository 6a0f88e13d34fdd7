"""Measure aggregation by number of groups: from records to figures, in one process, without Kafka.

Beside it the same batches are decoded and encoded, which is what passing them through takes.
"""

import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from random import Random
from statistics import median

import numpy as np
import orjson

from bench.grid import Grid, figures
from bench.page import Page
from bench.stream import key_of
from bench.watched import Stopwatch
from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.dataflows.kinds.running_total import RunningTotalOperator
from fugu.dataflows.kinds.sample import SampleOperator
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.symbols import PlainSymbols
from fugu.dataflows.stages.log_entries import Entry, read_entry
from fugu.dataflows.stages.merging import MergeState, Merging
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import IntegerColumn
from fugu.operators.mechanism import Mechanism, Releases
from fugu.operators.randomness import DrawScope, Secret

GROUPS = (10, 1_000, 100_000)
GROUPS_OF_TOTALS = (10, 1_000)
USERS = 100_000
TICKS = 4
"""Ticks of a run: the first one is published, and the others repeat it."""
PARTITIONS = 4

PASS_THROUGH = "pass-through"
DECODE = "codec: decode"
BOUND = "bound and sum"
PARTIALS = "partial sums: write and read"
MERGE = "merge"
FIGURES = "figures"
IDS = "release ids"
AGGREGATION = (DECODE, BOUND, PARTIALS, MERGE)

_WIDTH = 900_000
_BATCH = 5_000
_SEED = 1
_PASSES = 3
_LARGEST_VALUE = 1_000_000


@dataclass(frozen=True)
class Cost:
    """Hold CPU seconds of all records by part; of one publication, and new memory at its height.

    Bytes of an open tick: for each user where contributions are bounded, in all in the merge, and
    the largest partial sums in the log.
    """

    groups: int
    seconds: dict[str, float]
    publication_seconds: float
    publication_bytes: int
    bytes_per_user: float
    merge_bytes: int
    log_bytes: int
    totals: bool = False

    def microseconds(self, *parts: str) -> float:
        """Return the cost of one record."""
        return sum(self.seconds[part] for part in parts) / (USERS * TICKS) * 1e6


class City:
    """Hold a pipeline over `groups` zones, and batches of ticks in which everybody is somewhere."""

    def __init__(self, groups: int, *, totals: bool = False) -> None:
        """Take the strategy `sample`, or running `totals` under a personal cap."""
        self.zones = [f"zone-{number:06d}" for number in range(groups)]
        shared = {"epsilon": 1.0, "groups": self.zones, "ticks": {"width": "15m"}}
        self.operator: SampleOperator | RunningTotalOperator
        if totals:
            capped = {"contributions": {"at_most": 2, "per": "1d"}, "delta": 1e-6}
            section = {"kind": "running_total", **shared, **capped}
            self.operator = RunningTotalOperator.model_validate(section)
        else:
            section = {"kind": "sample", **shared, "window": TICKS}
            self.operator = SampleOperator.model_validate(section)
        self.ticks = self.operator.in_ticks()
        when = FieldTimestamp("at", 1)
        self.codec = Codec(self.operator.values(["zone"]), _LARGEST_VALUE, when)
        self.plain = Codec(PlainSymbols("zone", self.zones), _LARGEST_VALUE, when)
        admission = Admission("unchecked", PARTITIONS, USERS)
        self.bounding = self.operator.summing(self.ticks, admission)
        mechanism: Mechanism = (
            self.operator.release()
            if isinstance(self.operator, RunningTotalOperator)
            else self.operator.strategy()
        )
        law = mechanism.law_digest()
        self.scope = DrawScope(Secret(bytes(32)), "bench", mechanism.kind, 1, law)
        self.merge = Merging(mechanism, self.scope, "bench", PARTITIONS, groups)
        self.figures = self.operator.figures()

    @cached_property
    def batches(self) -> list[Batch]:
        """Return all ticks, and a last one with so many people that it closes the others."""
        random, offsets = Random(_SEED), [0] * PARTITIONS
        closing = PARTITIONS * self.ticks.time.distinct_keys
        batches = []
        for tick in range(TICKS + 1):
            for partition in range(PARTITIONS):
                users = range(partition, USERS if tick < TICKS else closing, PARTITIONS)
                for start in range(0, len(users), _BATCH):
                    sent = users[start : start + _BATCH]
                    first = offsets[partition]
                    offsets[partition] += len(sent)
                    batches.append(self._batch(partition, first, tick, sent, random))
        return batches

    def _batch(
        self, partition: int, first: int, tick: int, users: Sequence[int], random: Random
    ) -> Batch:
        values: list[bytes | None] = [
            orjson.dumps(
                {
                    "zone": random.choice(self.zones),
                    "at": tick * _WIDTH + random.randrange(_WIDTH),
                    "vehicle": f"bus-{random.randrange(1_000)}",
                    "session": f"{random.getrandbits(64):016x}",
                }
            )
            for _ in users
        ]
        return Batch(
            partition,
            IntegerColumn(np.arange(first, first + len(users))),
            IntegerColumn(np.full(len(users), tick * _WIDTH)),
            OptionalByteColumn.of([key_of(user) for user in users]),
            OptionalByteColumn.of(values),
            HeaderColumns(len(users), {}),
        )


def measure_aggregates(say: Callable[[str], None]) -> list[Cost]:
    """Measure every number of groups, and running totals under a personal cap."""
    costs = []
    for groups in GROUPS:
        say(f"{groups:,} groups")
        costs.append(_measure(City(groups)))
    for groups in GROUPS_OF_TOTALS:
        say(f"{groups:,} groups, running totals")
        costs.append(replace(_measure(City(groups, totals=True)), totals=True))
    return costs


def _measure(city: City) -> Cost:
    passes = [_one_pass(city) for _ in range(_PASSES)]
    seconds = {part: median(one[part] for one, _ in passes) for part in passes[0][0]}
    partials = passes[-1][1]
    began = time.process_time()
    _publish(city, partials)
    publication = time.process_time() - began
    tracemalloc.start()
    _publish(city, partials)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    waiting = city.merge.start()
    list(city.merge(waiting, partials[0]))
    return Cost(
        groups=len(city.zones),
        seconds=seconds,
        publication_seconds=publication,
        publication_bytes=peak,
        bytes_per_user=sum(one.nbytes for one in city.bounding.start(USERS).values()) / USERS,
        merge_bytes=len(waiting.open.take_everything()),
        log_bytes=max(len(one.encoded()) for one in partials),
    )


def _one_pass(city: City) -> tuple[dict[str, float], list[Entry]]:
    watch = Stopwatch()
    tables = [RowTable(city.bounding.start) for _ in range(PARTITIONS)]
    closed: list[Entry] = []
    for batch in city.batches:
        with watch.on(PASS_THROUGH):
            city.plain.encode(Releases(city.plain.decode(batch).values))
        with watch.on(DECODE):
            decoded = city.codec.decode(batch)
        with watch.on(BOUND):
            closed += city.bounding(decoded, tables[batch.partition]).partials
    with watch.on(PARTIALS):
        log = [one.encoded() for one in closed]
        partials = [read_entry(one, "bench") for one in log]
    with watch.on(MERGE):
        released = list(_merged(city, city.merge.start(), partials))
    assert len(released) == TICKS
    for tick, releases in released:
        notes = {name: note[0].tolist() for name, note in releases.annotations.items()}
        with watch.on(FIGURES):
            city.figures.write(tick, releases.values[0], notes)
        with watch.on(IDS):
            keys = city.figures.keys
            epochs = IntegerColumn(np.zeros(len(keys), dtype=np.int64))
            numbers = IntegerColumn(np.full(len(keys), tick))
            city.scope.tick_release_ids("bench", keys, epochs, numbers)
    return dict(watch.seconds), partials


def _publish(city: City, partials: Sequence[Entry]) -> None:
    """Publish the first tick only."""
    next(_merged(city, city.merge.start(), partials))


def _merged(
    city: City, state: MergeState, partials: Sequence[Entry]
) -> Iterator[tuple[int, Releases]]:
    for one in partials:
        yield from city.merge(state, one)


# Show the figures of aggregation as tables.


def aggregates_page(measured: Sequence[Cost], command: str, load_before: float) -> Page:
    """Return what is written and shown."""
    costs = [one for one in measured if not one.totals]
    totals = [one for one in measured if one.totals]
    return Page(
        "aggregates",
        "Aggregates",
        command,
        load_before,
        {
            "command": command,
            "load_before": load_before,
            "users": USERS,
            "ticks": TICKS,
            "costs": [asdict(cost) for cost in measured],
        },
        [_speeds(costs), _ticks(costs), _totals(costs, totals)],
        [
            f"Strategy sample with a window of {TICKS} ticks, so that one tick is published and "
            f"{TICKS - 1} repeat it; {PARTITIONS} partitions in turn, one process, no Kafka, CPU "
            "time. Every user sends one record of 80 bytes a tick; users are new in the first "
            "one. Pass-through decodes and encodes the same batches.",
            "Running totals are under a personal cap of 2 ticks a day: half of all contributions "
            "are dropped, and every tick is published.",
            "Figures and release ids are written at every tick, and are not part of the ratio. A "
            "publication draws noise for every group. Where contributions are bounded, state "
            "grows with users; in the merge and in the log, with groups.",
        ],
    )


def _speeds(costs: Sequence[Cost]) -> Grid:
    rows = []
    for cost in costs:
        through, aggregated = cost.microseconds(PASS_THROUGH), cost.microseconds(*AGGREGATION)
        parts = (cost.microseconds(part) for part in AGGREGATION)
        rows.append(
            [
                f"{cost.groups:,}",
                *figures(0, 1e6 / aggregated, 1e6 / through),
                *figures(2, through / aggregated, *parts),
            ]
        )
    return Grid(
        f"Records to merged ticks: {USERS * TICKS:,} records of {USERS:,} users; parts in µs a "
        "record",
        ["groups", "records/s", "pass-through", "ratio", *AGGREGATION],
        rows,
    )


def _totals(costs: Sequence[Cost], totals: Sequence[Cost]) -> Grid:
    rows = [
        [
            f"{one.groups:,}",
            *figures(0, 1e6 / one.microseconds(*AGGREGATION)),
            *figures(2, sampled.microseconds(*AGGREGATION) / one.microseconds(*AGGREGATION)),
            *figures(1, one.publication_seconds * 1e3),
            *figures(0, one.bytes_per_user),
        ]
        for one, sampled in zip(totals, costs, strict=False)
    ]
    return Grid(
        "Running totals under a personal cap, from records to merged ticks; ms and bytes",
        ["groups", "records/s", "of sample", "publication", "a user"],
        rows,
    )


def _ticks(costs: Sequence[Cost]) -> Grid:
    rows = [
        [
            f"{cost.groups:,}",
            *figures(1, cost.publication_seconds * 1e3),
            *figures(1, *(cost.seconds[part] / TICKS * 1e3 for part in (FIGURES, IDS))),
            *figures(1, cost.publication_bytes / 2**20),
            *figures(0, cost.bytes_per_user, cost.merge_bytes, cost.log_bytes),
        ]
        for cost in costs
    ]
    return Grid(
        "A tick: CPU milliseconds, and bytes of an open one",
        [
            "groups",
            "publication",
            "figures",
            "release ids",
            "publication, MiB",
            "a user",
            "merge",
            "log",
        ],
        rows,
    )

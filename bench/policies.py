"""Aggregation under policies: a tick from records to figures, in one process and without Kafka.

Beside it the same records are summed without policies, and decoded and encoded, which is what
passing them through takes.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from statistics import median

from bench.households import (
    DAY,
    PARTITIONS,
    START,
    Meters,
    under_policies,
    without_policies,
)
from bench.parts import Stopwatch
from dataflows.admission import Admission
from dataflows.aggregates.bounding import Bounding, cells
from dataflows.aggregates.log_entries import read_entry
from dataflows.aggregates.mechanisms import contributions, mechanism_of
from dataflows.aggregates.merging import Merge
from dataflows.aggregates.partials import Partial
from dataflows.batches import Batch
from dataflows.codec.fields import FieldTimestamp
from dataflows.codec.numbers import Numbers
from dataflows.codec.records import Codec
from dataflows.operator_sections import PolicyOperator, WEventOperator
from dataflows.state.row_table import RowTable
from operators.mechanism import Mechanism, Releases
from operators.randomness import DrawScope, Secret
from operators.swellfish.relevance import Relevance
from operators.swellfish.strategy import PolicyStrategy
from operators.swellfish.timeline import Policies

KEYS = (100, 1_000, 10_000, 100_000)
COLLECTIONS = 300
"""That the keys share."""
ROUNDS = 3
WEEK = 7 * DAY
"""Ticks that are merged."""
UNDER_POLICIES = "unicorn"
WITHOUT = "uniform"

PASS_THROUGH = "pass-through"
DECODE = "codec: decode"
BOUND = "bound and sum"
PARTIALS = "partial sums"
TIMELINE = "timeline"
STEP = "merge step"
FIGURES = "figures"
PARTS = (DECODE, BOUND, PARTIALS, TIMELINE, STEP, FIGURES)

_RECORDS = 200_000
_LARGEST_VALUE = 1_000_000
_SAMPLED = 29
"""Of so many ticks the state is encoded in one."""


@dataclass(frozen=True)
class TickCost:
    """CPU microseconds of a tick by part, and bytes of state: of the merge, and of a key where
    contributions are bounded."""

    keys: int
    strategy: str
    microseconds: dict[str, float]
    merge_bytes: int
    key_bytes: float

    @property
    def in_all(self) -> float:
        """Of a tick from records to figures."""
        return sum(self.microseconds[part] for part in PARTS)


@dataclass(frozen=True)
class TimedPolicies(Policies):
    """Policies that count what they take."""

    watch: Stopwatch = field(kw_only=True, compare=False)

    def relevance(self, tick: int, changes: bytes) -> Relevance:
        """As policies have it."""
        with self.watch.on(TIMELINE):
            return super().relevance(tick, changes)


class Town:
    """A pipeline that sums what households draw, with policies or without."""

    def __init__(self, operator: PolicyOperator | WEventOperator, keys: int) -> None:
        self.strategy = operator.kind
        self.ticks = operator.in_ticks()
        self.figures = operator.figures()
        self.codec = Codec(contributions(operator, "kw"), _LARGEST_VALUE, FieldTimestamp("at", 1))
        admission = Admission("unchecked", PARTITIONS, keys, operator.covers)
        self.bounding = Bounding(self.ticks, 1, admission)
        self.watch = Stopwatch()
        self.merge = _merge_of(_timed(mechanism_of(operator), self.watch))

    def partial_sums(self, batches: Iterable[Batch]) -> list[Partial]:
        """Of all records."""
        tables = [RowTable(self.bounding.start) for _ in range(PARTITIONS)]
        closed: list[Partial] = []
        for batch in batches:
            with self.watch.on(DECODE):
                decoded = self.codec.decode(batch)
            with self.watch.on(BOUND):
                closed += self.bounding(decoded, tables[batch.partition]).partials
        with self.watch.on(PARTIALS):
            for one in closed:
                read_entry(one.encoded(), "bench")
        return closed

    def release(self, partials: Iterable[Partial]) -> int:
        """Merge, and write figures; the most bytes of state there were."""
        state, largest = self.merge.start(), 0
        for one in partials:
            with self.watch.on(STEP):
                complete = list(self.merge(state, one))
            for tick, releases in complete:
                with self.watch.on(FIGURES):
                    notes = {name: note[0].item() for name, note in releases.annotations.items()}
                    self.figures.write(tick, releases.values[0], notes)
                if tick % _SAMPLED == 0:
                    largest = max(largest, len(state.encoded()))
        return largest


def measure_policies(say: Callable[[str], None]) -> list[TickCost]:
    """By keys, under policies and without."""
    costs = []
    for keys in KEYS:
        say(f"{keys:,} keys")
        meters = Meters(keys, max(4, min(WEEK, _RECORDS // keys)))
        under = under_policies(UNDER_POLICIES, COLLECTIONS, keys)
        costs += _measure([Town(under, keys), Town(without_policies(WITHOUT), keys)], meters)
    return costs


def _merge_of(mechanism: Mechanism) -> Merge:
    """Of one figure a tick."""
    scope = DrawScope(Secret(bytes(32)), "bench", mechanism.kind, 1, mechanism.law_digest())
    return Merge(mechanism, scope, "bench", PARTITIONS, 1)


def _timed(mechanism: Mechanism, watch: Stopwatch) -> Mechanism:
    if not isinstance(mechanism, PolicyStrategy):
        return mechanism
    policies = mechanism.timeline
    assert isinstance(policies, Policies)
    timed = TimedPolicies(
        policies.tick_milliseconds, policies.query, policies.collections, watch=watch
    )
    return replace(mechanism, timeline=timed)


def _measure(towns: Sequence[Town], meters: Meters) -> list[TickCost]:
    """Medians of rounds in turns; the first one, which makes occurrences and rows, is not one."""
    seconds: list[list[dict[str, float]]] = [[] for _ in towns]
    through: list[float] = []
    merge_bytes = []
    for town in towns:
        merge_bytes.append(town.release(week_of(town.partial_sums(meters.batches))))
    for _ in range(ROUNDS):
        through.append(_passed_through(meters.batches))
        for town, measured in zip(towns, seconds, strict=True):
            town.watch.seconds.clear()
            town.release(week_of(town.partial_sums(meters.batches)))
            measured.append(dict(town.watch.seconds))
    ticks = dict.fromkeys((DECODE, BOUND, PARTIALS), meters.ticks)
    costs = []
    for town, measured, size in zip(towns, seconds, merge_bytes, strict=True):
        spent = {part: median(one.get(part, 0.0) for one in measured) for part in PARTS}
        spent[STEP] -= spent[TIMELINE]
        each = {part: spent[part] / ticks.get(part, WEEK) * 1e6 for part in PARTS}
        each[PASS_THROUGH] = median(through) / meters.ticks * 1e6
        columns = cells(town.ticks, meters.households).values()
        key_bytes = sum(column.nbytes for column in columns) / meters.households
        costs.append(TickCost(meters.households, town.strategy, each, size, key_bytes))
    return costs


def _passed_through(batches: Sequence[Batch]) -> float:
    """CPU seconds to read records and write them."""
    codec = Codec(Numbers("kw", units_per_one=100), _LARGEST_VALUE, FieldTimestamp("at", 1))
    began = time.process_time()
    for batch in batches:
        codec.encode(Releases(codec.decode(batch).values))
    return time.process_time() - began


def week_of(partials: Sequence[Partial]) -> Iterator[Partial]:
    """The same sums again and again, for a week."""
    by_partition = [
        cycle([one for one in partials if one.partition == partition])
        for partition in range(PARTITIONS)
    ]
    for tick in range(START, START + WEEK):
        for sums in by_partition:
            yield replace(next(sums), tick=tick)

"""Aggregation under policies: a tick from records to figures, in one process and without Kafka.

Beside it the same records are summed without policies, and decoded and encoded, which is what
passing them through takes.
"""

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
from bench.watched import Stopwatch
from fugu.dataflows.kinds import PolicyOperator, WEventOperator
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.stages.log_entries import read_entry
from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.stages.summing import Summing, cells
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Mechanism, Releases
from fugu.operators.randomness import DrawScope
from fugu.operators.secret import Secret
from fugu.operators.swellfish.relevance import Relevance
from fugu.operators.swellfish.strategy import PolicyStrategy
from fugu.operators.swellfish.timeline import Policies

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

_RECORDS = 100_000
_LARGEST_VALUE = 1_000_000
_SAMPLED = 29
"""The state is encoded in one of so many ticks."""


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
        """Return the microseconds of a tick, from records to figures."""
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

    def __init__(self, operator: PolicyOperator | WEventOperator, meters: Meters) -> None:
        self.meters = meters
        self.strategy = operator.kind
        self.ticks = operator.in_ticks()
        self.merge_bytes = 0
        self._figures = operator.figures()
        when = FieldTimestamp("at", 1)
        self._codec = Codec(operator.values(["kw"]), _LARGEST_VALUE, when)
        self._plain = Codec(Numbers("kw", units_per_one=100), _LARGEST_VALUE, when)
        admission = Admission("unchecked", PARTITIONS, meters.households, operator.covers)
        self._bounding = Summing(self.ticks, 1, admission)
        self._watch = Stopwatch()
        mechanism = _timed(operator.strategy(), self._watch)
        scope = DrawScope(Secret(bytes(32)), "bench", mechanism.kind, 1, mechanism.law_digest())
        self._merge = Merging(mechanism, scope, "bench", PARTITIONS, 1)

    def round(self) -> dict[str, float]:
        """CPU microseconds of a tick by part."""
        self._watch.seconds.clear()
        self._release(_week_of(self._partial_sums()))
        seconds = dict.fromkeys((PASS_THROUGH, *PARTS), 0.0) | self._watch.seconds
        seconds[STEP] -= seconds[TIMELINE]
        ticks = dict.fromkeys((PASS_THROUGH, DECODE, BOUND, PARTIALS), self.meters.ticks)
        return {part: spent / ticks.get(part, WEEK) * 1e6 for part, spent in seconds.items()}

    def _partial_sums(self) -> list[PartialSums]:
        """Return the partial sums of all records."""
        tables = [RowTable(self._bounding.start) for _ in range(PARTITIONS)]
        closed: list[PartialSums] = []
        for batch in self.meters.batches:
            with self._watch.on(PASS_THROUGH):
                self._plain.encode(Releases(self._plain.decode(batch).values))
            with self._watch.on(DECODE):
                decoded = self._codec.decode(batch)
            with self._watch.on(BOUND):
                closed += self._bounding(decoded, tables[batch.partition]).partials
        with self._watch.on(PARTIALS):
            for one in closed:
                read_entry(one.encoded(), "bench")
        return closed

    def _release(self, partials: Iterable[PartialSums]) -> None:
        """Merge, and write figures."""
        state = self._merge.start()
        for one in partials:
            with self._watch.on(STEP):
                complete = list(self._merge(state, one))
            for tick, releases in complete:
                with self._watch.on(FIGURES):
                    notes = {name: note[0].item() for name, note in releases.annotations.items()}
                    self._figures.write(tick, releases.values[0], notes)
                if tick % _SAMPLED == 0:
                    self.merge_bytes = max(self.merge_bytes, len(state.encoded()))


def measure_policies(say: Callable[[str], None]) -> list[TickCost]:
    """By keys, under policies and without."""
    towns = []
    for keys in KEYS:
        say(f"making {keys:,} households")
        meters = Meters(keys, max(2, min(WEEK, _RECORDS // keys)))
        towns.append(Town(under_policies(UNDER_POLICIES, COLLECTIONS, keys), meters))
        towns.append(Town(without_policies(WITHOUT), meters))
    costs = []
    for town, microseconds in zip(towns, measure_rounds(towns, say), strict=True):
        keys = town.meters.households
        key_bytes = sum(column.nbytes for column in cells(town.ticks, keys).values()) / keys
        costs.append(TickCost(keys, town.strategy, microseconds, town.merge_bytes, key_bytes))
    return costs


def measure_rounds(towns: Sequence[Town], say: Callable[[str], None]) -> list[dict[str, float]]:
    """CPU microseconds of a tick by part: medians of rounds, in which every town has its turn."""
    rounds = []
    for number in range(1, ROUNDS + 1):
        say(f"round {number} of {ROUNDS}")
        rounds.append([town.round() for town in towns])
    return [
        {part: median(one[part] for one in own) for part in (PASS_THROUGH, *PARTS)}
        for own in zip(*rounds, strict=True)
    ]


def _timed(mechanism: Mechanism, watch: Stopwatch) -> Mechanism:
    """If it has policies, with their first occurrences made."""
    if not isinstance(mechanism, PolicyStrategy):
        return mechanism
    policies = mechanism.timeline
    assert isinstance(policies, Policies)
    timed = TimedPolicies(
        policies.tick_milliseconds, policies.query, policies.collections, watch=watch
    )
    timed.relevance(START, b"")
    return replace(mechanism, timeline=timed)


def _week_of(partials: Sequence[PartialSums]) -> Iterator[PartialSums]:
    """The same sums again and again, for a week."""
    by_partition = [
        cycle([one for one in partials if one.partition == partition])
        for partition in range(PARTITIONS)
    ]
    for tick in range(START, START + WEEK):
        for sums in by_partition:
            yield replace(next(sums), tick=tick)

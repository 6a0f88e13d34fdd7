"""Aggregation under policies: a tick from records to figures, in one process and without Kafka.

Beside it the same records are summed without policies, and decoded and encoded, which is what
passing them through takes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import cycle
from statistics import median

from bench.grid import Grid, figures
from bench.households import (
    DAY,
    PARTITIONS,
    POLICIES,
    START,
    Meters,
    under_policies,
    without_policies,
)
from bench.page import Page
from bench.timelines import TimelineCost
from bench.watched import Stopwatch
from fugu.dataflows.kinds import PolicyOperator, WEventOperator
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.stages.log_entries import PartialSums, read_entry
from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.summing import Summing, cells
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Mechanism, Releases
from fugu.operators.randomness import DrawScope, Secret
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


# The figures of aggregation under policies as tables.


def policies_page(
    ticks: Sequence[TickCost], timelines: Sequence[TimelineCost], command: str, load_before: float
) -> Page:
    """Return what is written and shown."""
    return Page(
        "policies",
        "Aggregates under policies",
        command,
        load_before,
        {
            "command": command,
            "load_before": load_before,
            "collections": COLLECTIONS,
            "policies of a collection": POLICIES,
            "rounds": ROUNDS,
            "ticks": [asdict(cost) for cost in ticks],
            "timelines": [asdict(cost) for cost in timelines],
        },
        [_speeds(ticks), _parts(ticks), _timelines(timelines)],
        [
            f"Every key sends one record of 80 bytes a tick of 15 minutes; {PARTITIONS} partitions "
            f"in turn, one process, no Kafka, CPU time, median of {ROUNDS} rounds in turns. "
            "Pass-through decodes and encodes the same records. `uniform` sums them without "
            f"policies and draws noise at every tick; `{UNDER_POLICIES}` decides with noise first. "
            f"Records are those of {WEEK} ticks, or of as many as make 100,000 records, and at "
            "least two, in the first of which users are new; from the timeline on, a part is the "
            "mean of a week.",
            "Policies are at random hours and days, for one hour to eight, so that few intervals "
            "are alike: a timeline asks again where one begins or ends, and a merge step reads and "
            "writes a ledger for each that is open. Neither ever meets a key. First tick: once in "
            "four weeks the occurrences of five weeks are made; it is not part of the others.",
        ],
    )


def _speeds(ticks: Sequence[TickCost]) -> Grid:
    without = {cost.keys: cost for cost in ticks if cost.strategy != UNDER_POLICIES}
    rows = []
    for cost in (cost for cost in ticks if cost.strategy == UNDER_POLICIES):
        uniform = without[cost.keys]
        through = cost.microseconds[PASS_THROUGH]
        rows.append(
            [
                f"{cost.keys:,}",
                *figures(1, 1e6 / cost.in_all, 1e6 / uniform.in_all, 1e6 / through),
                *figures(2, uniform.in_all / cost.in_all, through / cost.in_all),
                *figures(2, uniform.microseconds[PASS_THROUGH] / uniform.in_all),
            ]
        )
    return Grid(
        f"Ticks/s under {COLLECTIONS} collections of {POLICIES} policies, from records to figures",
        [
            "keys",
            "policies",
            "without",
            "pass-through",
            "policies / without",
            "policies / pass-through",
            "without / pass-through",
        ],
        rows,
    )


def _parts(ticks: Sequence[TickCost]) -> Grid:
    rows = [
        [
            f"{cost.keys:,}, {cost.strategy}",
            *figures(0, *(cost.microseconds[part] for part in PARTS)),
            *figures(0, cost.merge_bytes, cost.key_bytes),
        ]
        for cost in ticks
    ]
    return Grid(
        "CPU µs of a tick by part, and bytes of state: of the merge, and of a key",
        ["keys, strategy", *PARTS, "merge", "a key"],
        rows,
    )


def _timelines(timelines: Sequence[TimelineCost]) -> Grid:
    rows = [
        [
            f"{cost.of.collections:,}",
            *figures(1, cost.of.occurrences, cost.of.intervals, cost.timeline),
            *figures(1, cost.timeline / cost.of.occurrences, cost.step),
            *figures(0, cost.of.first_seconds * 1e3, cost.merge_bytes),
        ]
        for cost in timelines
    ]
    return Grid(
        "CPU µs of a tick by collections, and bytes of the merge's state",
        [
            "collections",
            "open occurrences",
            "open intervals",
            "timeline",
            "/ open occurrence",
            "merge step",
            "first tick, ms",
            "state",
        ],
        rows,
    )

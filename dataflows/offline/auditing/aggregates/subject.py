"""Run one input of an aggregate: everything up to the merge once, the merge as often as asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.flows.merging import outgoing
from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.offline.auditing.aggregates.population import PARTITIONS, Population, Said
from fugu.dataflows.offline.evaluation.aggregates.figures import Exact
from fugu.dataflows.offline.evaluation.run import scope_of
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.guarantee_data import guarantee_id
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.stages.log_entries import PartialSums, PolicyChange, read_entry
from fugu.dataflows.stages.merging import SCHEDULE, MergeState, Merging, OpenTicks, Progress
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.summing import Summing
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Integers, Mechanism, Releases, State
from fugu.operators.randomness import DrawScope, Secret

Released = dict[int, Releases]
"""Hold what is released for each tick, in every run."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """Hold a pipeline of figures, and the population that it is run with.

    `restart` is the tick after which the merge is stopped and goes on from its written state;
    `changes` are changes of policies, in the log before these ticks are told.
    """

    pipeline: Pipeline
    operator: AggregateOperator
    mechanism: Mechanism
    codec: Codec
    population: Population
    first: int
    restart: int
    changes: Mapping[int, bytes] = field(default_factory=dict)
    _logs: dict[Said, Sequence[bytes]] = field(init=False, default_factory=dict, repr=False)

    def log(self, said: Said) -> Sequence[bytes]:
        """Return the entries of the internal log; its rows are written and read in mid-run."""
        if said not in self._logs:
            self._logs[said] = self._summed(said)
        return self._logs[said]

    def _summed(self, said: Said) -> Sequence[bytes]:
        most = -(-self.pipeline.state.max_keys // PARTITIONS)
        admission = Admission(
            self.population.partitioner, PARTITIONS, most, covers=self.operator.covers
        )
        operator = self.operator
        bounding = operator.summing(operator.in_ticks(), admission)
        tables = [RowTable(bounding.start) for _ in range(PARTITIONS)]
        entries: list[bytes] = []
        changes = dict(self.changes)
        for batch in self.population.batches(said, self.first):
            tables[batch.partition] = _written_and_read(tables[batch.partition], bounding)
            bounded = bounding(self.codec.on_plain_json.decode(batch), tables[batch.partition])
            for partial in bounded.partials:
                if (change := changes.pop(partial.tick, None)) is not None:
                    entries.append(PolicyChange(change).encoded())
                entries.append(partial.encoded())
        return entries

    def truths(self, said: Said) -> dict[int, Integers]:
        """Return the exact figures of every tick that is released."""
        sums = [entry for entry in self.log(said) if not _is_change(entry)]
        merged = self._merged(self._merge(Exact(), Secret(bytes(32)), [SCHEDULE]), sums)
        return {tick: releases.values[0] for tick, releases in merged.items()}

    def released(
        self, log: Sequence[bytes], secret: Secret, streams: Sequence[bytes], *, restarts: bool
    ) -> Released:
        """Return what is released in many runs at once, each under draws of its own."""
        merge = self._merge(self.mechanism, secret, streams)
        return self._merged(merge, log, restarts=restarts)

    def released_at(
        self, tick: int, said: Said, secret: Secret, streams: Sequence[bytes]
    ) -> Releases:
        """Return what is released for one tick."""
        merge = self._merge(self.mechanism, secret, streams)
        state = merge.start()
        return next(
            releases
            for entry in self.log(said)
            for at, releases in merge.with_plan(state, read_entry(entry, "internal log"))
            if at == tick
        )

    def before(self, state: State, number: int) -> State:
        """Return the state of a mechanism after a restart of the merge before a tick, and after
        what is changed then."""
        rows = len(next(iter(state.values())))
        merge = self._merge(self.mechanism, Secret(bytes(32)), [SCHEDULE] * rows)
        tick = self.first + number
        held = MergeState(state, Progress(following=tick))
        if (change := self.changes.get(tick)) is not None:
            held.pending.append(change)
        merge.bring_to(held, tick)
        merge.plan_at_once(held)
        return _restarted(merge, held).mechanism

    def published(self, released: Released, secret: Secret, run: int = 0) -> Outgoing:
        """Return the records of the sanitized topic that one of the runs publishes."""
        ticks = [(tick, _of_run(releases, run)) for tick, releases in released.items()]
        operator, scope = self.operator, self._scope(self.mechanism, secret)
        publisher = Publisher(
            codec=self.codec,
            scope=scope,
            source=self.pipeline.source.topic,
            source_topic=self.pipeline.source.topic,
            guarantee_id=guarantee_id(self.mechanism.guarantees()),
            key_policy=self.pipeline.sink.key,
            pseudonyms=Pseudonyms(secret, self.pipeline.sink.topic),
        )
        return outgoing(ticks, operator.in_ticks(), operator.figures(), publisher)

    @cached_property
    def groups(self) -> int:
        """Return how many figures a tick has."""
        return self.operator.group_count

    def _merge(self, mechanism: Mechanism, secret: Secret, streams: Sequence[bytes]) -> Merging:
        source = self.pipeline.source.topic
        scope = self._scope(mechanism, secret)
        return Merging(mechanism, scope, source, PARTITIONS, self.groups, streams)

    def _scope(self, mechanism: Mechanism, secret: Secret) -> DrawScope:
        return scope_of(self.pipeline, mechanism.kind, mechanism, secret)

    def _merged(self, merge: Merging, log: Sequence[bytes], *, restarts: bool = True) -> Released:
        """Merge the log; after a restart its last entry, of a tick that is open, is told again."""
        state, found = merge.start(), Released()
        for number, content in enumerate(log):
            entry = read_entry(content, f"internal log, entry {number}")
            for tick, releases in merge.with_plan(state, entry):
                assert tick not in found
                found[tick] = releases
            if restarts and isinstance(entry, PartialSums) and entry.tick == self.restart:
                state, restarts = _restarted(merge, state), False
                found.update(merge.with_plan(state, entry))
        return found


def _restarted(merge: Merging, state: MergeState) -> MergeState:
    def load(_: str) -> OpenTicks:
        sums = OpenTicks()
        sums.apply(state.open.take_everything())
        return sums

    return merge.restored(state.encoded(), load)


def _is_change(entry: bytes) -> bool:
    return isinstance(read_entry(entry, "internal log"), PolicyChange)


def _written_and_read(table: RowTable, bounding: Summing) -> RowTable:
    read = RowTable(bounding.start)
    read.apply(table.take_everything())
    return read


def _of_run(releases: Releases, run: int) -> Releases:
    at = slice(run, run + 1)
    notes = {name: note[at] for name, note in releases.annotations.items()}
    kinds = None if releases.kinds is None else releases.kinds[at]
    return Releases(releases.values[at], notes, kinds)

"""Move every stream to the partition that producers send its key to now, with its budget.

For a source topic that was extended, for producers that changed their partitioner, and for another
number of shards. Rows are moved as they are: beliefs, ledgers, what is repeated. The new
directories are written beside the old ones and exchanged together, so that no key ever has two
budgets; whoever was cut short does it once more.

People of an aggregate move with what they contributed to ticks that are open, once all partitions
have closed the same ticks. The merge goes on where it was, with its ledger, and reads in its log
that there are more partitions to wait for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.flows.found_partitioner import as_begun
from fugu.dataflows.flows.key_layout import (
    KeyLayout,
    require_known_places,
    stored_layout,
    wanted_layout,
)
from fugu.dataflows.flows.newest_copy import require_newest_copy
from fugu.dataflows.flows.rewriting import Rewriting, extended_topics
from fugu.dataflows.flows.sections import aggregate_of
from fugu.dataflows.flows.state_directories import root_directory
from fugu.dataflows.flows.stopped_state import alone_in, stopped_state
from fugu.dataflows.flows.told_moves import ToldMoves
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.pipeline.config import Pipeline, PipelineFile, reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.summing import brought_together
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.row_table import RowTable

COMMAND = "fugu state repartition"


@dataclass(frozen=True)
class Repartitioned:
    """Hold how many streams moved, and how many unread records are where their keys are no longer.

    Without a layout of `after`, an earlier command had moved them, and was cut short behind it.
    """

    before: KeyLayout | None = None
    after: KeyLayout | None = None
    moved: int = 0
    unread: int = 0
    summed: bool = False
    """Say whether people are summed, and not released each by itself."""

    @property
    def moves_in_words(self) -> str:
        """Say what moved, from where to where."""
        what = (
            f"{self.moved:,} people with what they contributed to open ticks"
            if self.summed
            else f"{self.moved:,} streams with their budgets"
        )
        return f"moved {what}, from {self.before} to {self.after}"

    @property
    def unread_in_words(self) -> str | None:
        """Say what becomes of records that are where their keys are no longer."""
        if not self.unread:
            return None
        later = (
            "They are not counted, because figures are published without them"
            if self.summed
            else "fugu redrive releases them while the pipeline is stopped"
        )
        return (
            f"{self.unread:,} records that are not read yet are where their keys are no longer: "
            f"they become dead letters (wrong_partition). {later}"
        )

    @property
    def changed(self) -> bool:
        """Return whether the state is another one now."""
        return self.after is None or self.after != self.before


def repartition(file: PipelineFile) -> Repartitioned:
    """Move all streams of a pipeline that stopped gracefully; finish what was cut short."""
    file = as_begun(file)
    root = root_directory(file)
    exchange = Exchange(root.path)
    _require_people_can_move(file.pipeline)
    client = client_of(file.connection(), file.pipeline.source.generation)
    with alone_in(root):
        if exchange.is_decided(COMMAND):
            _complete(file, client, exchange)
            return Repartitioned()
        with stopped_state(root.path) as state:
            before = stored_layout(file, state.first)
            require_newest_copy(client, file, state)
            require_known_places(file.pipeline)
            topics = extended_topics(client, file.pipeline)
            layout = wanted_layout(file.pipeline, topics.source)
            if layout == before:
                return Repartitioned(before, layout)
            mechanism = configure(file).mechanism
            ledger = find_ledger(client, file.pipeline)
            following = Rewriting(file, mechanism, client, topics, ledger, state, before, layout)
            tables: Mapping[int, RowTable] = state.tables(file, mechanism)
            unread, reading = following.unread(), reading_digest(file.pipeline)
            operator = aggregate_of(file.pipeline)
            if operator is not None:
                _refuse_large_sums(operator, file.pipeline, layout)
                tables = _brought_together(operator, following, tables, reading)
            moved = following.write(exchange, tables, {"reading": reading}, COMMAND)
            _complete(file, client, exchange)
    return Repartitioned(before, layout, moved, unread, summed=operator is not None)


def _brought_together(
    operator: AggregateOperator,
    following: Rewriting,
    tables: Mapping[int, RowTable],
    reading: str,
) -> Mapping[int, RowTable]:
    """Return the rows of an aggregate, all at one tick; what the merge is to be told is kept."""
    before, after, log = following.before, following.layout, following.topics.sink
    ticks, layout = operator.in_ticks(), (after.partitioner, after.partitions)
    assert ticks is not None
    admission = Admission(*layout, following.file.pipeline.state.max_keys, operator.covers)
    stage = operator.summing(ticks, admission)
    root, moves = root_directory(following.file).path, ToldMoves(log.name, log.identity, reading)
    if not following.moves_keys:
        moves.keep(root)
        return tables
    together = brought_together(stage, tables, before.partitions, after.partitions)
    time = 0 if together.last is None else ticks.end(together.last)
    replace(moves, timestamp=time, entries=together.entries).keep(root)
    return together.tables


def _complete(file: PipelineFile, client: Client, exchange: Exchange) -> None:
    """Do what is left once the new directories count, as often as this is cut short."""
    if aggregate_of(file.pipeline) is None:
        exchange.finish()
        return
    ToldMoves.kept(exchange.root).tell(client, file)
    exchange.finish()
    ToldMoves.forget(exchange.root)


def _refuse_large_sums(operator: AggregateOperator, pipeline: Pipeline, layout: KeyLayout) -> None:
    """Refuse more people than exact sums have room for, before anything changes."""
    try:
        operator.refuse_large_sums(pipeline.state.max_keys * layout.partitions)
    except ValueError as error:
        raise ConfigurationError(f"{error}. Nothing was changed.") from None


def _require_people_can_move(pipeline: Pipeline) -> None:
    if not pipeline.operator.people_can_move:
        raise ConfigurationError(
            f"operator.kind: streams of {pipeline.operator.kind} cannot be moved to other "
            f"partitions, because {pipeline.operator.stays_because}. Let producers write to a new "
            "topic, and start a pipeline over it when this one has released its last tick; what "
            "both release adds up, and fugu ledger shows the sum"
        )

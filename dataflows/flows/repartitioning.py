"""Move every stream to the partition that producers send its key to now, with its budget.

For a source topic that was extended, for producers that changed their partitioner, and for another
number of shards. Rows are moved as they are: beliefs, ledgers, what is repeated. The new
directories are written beside the old ones and exchanged together, so that no key ever has two
budgets; whoever was cut short does it once more.
"""

from dataclasses import dataclass

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
from fugu.dataflows.flows.state_directories import root_directory
from fugu.dataflows.flows.stopped_state import alone_in, stopped_state
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.pipeline.config import Pipeline, reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.state.exchange import Exchange

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

    @property
    def changed(self) -> bool:
        """Return whether the state is another one now."""
        return self.after is None or self.after != self.before


def repartition(file: PipelineFile) -> Repartitioned:
    """Move all streams of a pipeline that stopped gracefully; finish what was cut short."""
    file = as_begun(file)
    root = root_directory(file)
    exchange = Exchange(root.path)
    _require_single_records(file.pipeline)
    with alone_in(root):
        if exchange.is_decided(COMMAND):
            exchange.finish()
            return Repartitioned()
        with stopped_state(root.path) as state:
            before = stored_layout(file, state.first)
            client = client_of(file.connection(), file.pipeline.source.generation)
            require_newest_copy(client, file, state)
            require_known_places(file.pipeline)
            topics = extended_topics(client, file.pipeline)
            layout = wanted_layout(file.pipeline, topics.source)
            if layout == before:
                return Repartitioned(before, layout)
            mechanism = configure(file).mechanism
            ledger = find_ledger(client, file.pipeline)
            following = Rewriting(file, mechanism, client, topics, ledger, state, before, layout)
            tables = state.tables(file, mechanism)
            unread = following.unread()
            reading = {"reading": reading_digest(file.pipeline)}
            moved = following.write(exchange, tables, reading, COMMAND)
            exchange.finish()
    return Repartitioned(before, layout, moved, unread)


def _require_single_records(pipeline: Pipeline) -> None:
    if not pipeline.operator.streams_can_move:
        raise ConfigurationError(
            f"operator.kind: streams of {pipeline.operator.kind} cannot be moved to other "
            "partitions, because every partition stands at ticks of its own. Let producers write "
            "to a new topic, and start a pipeline over it when this one has released its last "
            "tick; what both release adds up, and fugu ledger shows the sum"
        )

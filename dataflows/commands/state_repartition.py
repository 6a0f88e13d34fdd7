"""Move every stream to the partition that producers send its key to now, with its budget.

For a source topic that was extended, for producers that changed their partitioner, and for another
number of shards. Rows are moved as they are: beliefs, ledgers, what is repeated. The new
directories are written beside the old ones and exchanged together, so that no key ever has two
budgets; a command that was killed is run once more.
"""

from rich.console import Console

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.arguments import PipelineArgument
from fugu.dataflows.flows.found_partitioner import as_begun
from fugu.dataflows.flows.key_layout import require_known_places, stored_layout, wanted_layout
from fugu.dataflows.flows.rewriting import Rewriting, extended_topics
from fugu.dataflows.flows.state_directories import root_directory
from fugu.dataflows.flows.stopped_state import alone_in, stopped_state
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.pipeline.config import Pipeline, reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.dataflows.state.exchange import Exchange

_COMMAND = "fugu state repartition"


def repartition(pipeline: PipelineArgument) -> None:
    """Move streams, with their budgets, to where producers send their keys now.

    Run it when partitions were added to the source topic, or when source.partitioner or
    state.shards is to change: write the new value into the pipeline file before. The pipeline
    must have stopped gracefully. Killed anywhere, it is run once more.
    """
    pipeline = as_begun(pipeline)
    root, console = root_directory(pipeline), Console()
    exchange = Exchange(root.path)
    _require_single_records(pipeline.pipeline)
    with alone_in(root):
        if exchange.is_decided(_COMMAND):
            exchange.finish()
            console.print(f"{root.path}: what was begun is complete. Start {pipeline.path}.")
            return
        with stopped_state(root.path) as state:
            before = stored_layout(pipeline, state.first)
            client = client_of(pipeline.connection(), pipeline.pipeline.source.generation)
            require_known_places(pipeline.pipeline)
            topics = extended_topics(client, pipeline.pipeline)
            layout = wanted_layout(pipeline.pipeline, topics.source)
            if layout == before:
                console.print(f"nothing to do: the state has {layout} already")
                return
            mechanism = configure(pipeline).mechanism
            ledger = find_ledger(client, pipeline.pipeline)
            following = Rewriting(
                pipeline, mechanism, client, topics, ledger, state, before, layout
            )
            tables = state.tables(pipeline, mechanism)
            reading = {"reading": reading_digest(pipeline.pipeline)}
            unread = following.unread()
            moved = following.write(exchange, tables, reading, _COMMAND)
            exchange.finish()
    if unread:
        console.print(
            f"{unread:,} records that are not read yet are where their keys are no longer: they "
            "become dead letters (wrong_partition), which fugu redrive then releases.",
            soft_wrap=True,
        )
    console.print(
        f"moved {moved:,} streams with their budgets, from {before} to {layout}. Start "
        f"{pipeline.path}; fugu redrive before it releases what was refused as wrong_partition. "
        f"The old directories {root.path}/shard-*.before-* hold original keys: delete them when "
        "you are satisfied."
    )


def _require_single_records(pipeline: Pipeline) -> None:
    operator = pipeline.operator
    if operator.stage is StageKind.AGGREGATE or operator.in_ticks() is not None:
        raise ConfigurationError(
            f"operator.kind: streams of {operator.kind} cannot be moved to other partitions, "
            "because every partition stands at ticks of its own. Let producers write to a new "
            "topic, and start a pipeline over it when this one has released its last tick; what "
            "both release adds up, and fugu ledger shows the sum"
        )

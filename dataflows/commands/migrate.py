"""Go on with other parameters, under the budgets that streams have spent already.

Streams go on with what they have spent, and, where readers have a belief, with what readers know
after all releases so far. The new law begins where every partition stopped. The ledger holds what
both laws promise together. The next state is written beside the present one and exchanged as a
whole, so a command that was killed is run once more.
"""

from typing import Annotated

import typer

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.commands.arguments import NewPipeline, OldPipeline, read_pipeline
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.commands.released_before import released_before
from fugu.dataflows.flows.carrying_over import CarriedOver, carried_over
from fugu.dataflows.flows.changed_entry import ChangedEntry
from fugu.dataflows.flows.found_partitioner import as_begun, replacing_partitioner
from fugu.dataflows.flows.key_layout import stored_layout, wanted_layout
from fugu.dataflows.flows.newest_copy import require_newest_copy
from fugu.dataflows.flows.rewriting import Rewriting, extended_topics
from fugu.dataflows.flows.settling import Settling
from fugu.dataflows.flows.state_directories import root_directory
from fugu.dataflows.flows.stopped_state import StoppedState, alone_in, crashed, stopped_state
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.pipeline.config import PipelineFile, reading_digest
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.row_table import RowTable

_COMMAND = "fugu migrate"


def migrate(
    old: OldPipeline,
    new: NewPipeline,
    earlier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PIPELINE",
            help="A file from before OLD, where what readers know depends on it. Give it for each.",
        ),
    ] = None,
    accept_gap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC:PARTITION",
            help="Go on behind records of the source that retention removed. Give it for each.",
        ),
    ] = None,
) -> None:
    """Carry all budgets from the pipeline file OLD to NEW, or say why that would not be sound.

    Epsilon, budget, model, alphabet, operator, reading, sink and name may change. The pipeline
    must have stopped gracefully. Killed anywhere, it is run once more. OLD and NEW may be one
    file, where a sink was created anew, or to accept a gap.
    """
    before, root = as_begun(old), root_directory(old)
    after = _with_partitioner_of(before, new)
    change, gaps = carried_over(before, after), _partitions(accept_gap or [], before)
    console = Terminal()
    exchange = Exchange(root.path)
    client = client_of(after.connection(), after.pipeline.source.generation)
    entry = ChangedEntry(client, change)
    with alone_in(root):
        if not exchange.is_decided(_COMMAND, change.digest):
            after_crash = bool(gaps) and crashed(root.path)
            with stopped_state(root.path, after_crash=after_crash) as state:
                change.require_state_of(state.first)
                if after_crash:
                    _settle(exchange, change, state, gaps)
                else:
                    require_newest_copy(client, before, state)
                    files = list(map(read_pipeline, earlier or []))
                    _write(exchange, entry, state, files, gaps)
        entry.write()
        exchange.finish()
    console.print(
        f"{after.pipeline.name} goes on under {after.path} where it stopped under {before.path}. "
        f"{_in_words(change)} Start {after.path}. The old directories {root.path}/shard-*.before-* "
        "hold original keys: delete them when you are satisfied.",
        soft_wrap=True,
    )


def _settle(exchange: Exchange, change: CarriedOver, state: StoppedState, gaps: set[int]) -> None:
    """Accept gaps after a crash; nothing else may change with it."""
    if change.before.path != change.after.path:
        raise ConfigurationError(
            "--accept-gap: the pipeline did not stop gracefully. Accept the gap with one file "
            "alone (fugu migrate OLD OLD --accept-gap ...), start it, stop it, and migrate then"
        )
    settled = Settling.of(change.before, state, gaps).write(exchange, _COMMAND, change.digest)
    said = f"{settled.followed:,} releases whose records are gone were charged to their streams."
    if settled.strangers:
        said += (
            f" {settled.strangers:,} streams began there, of which only pseudonyms are known: "
            "their records are refused from now on (unknown_budget)."
        )
    Terminal(soft_wrap=True).print(said)


def _write(
    exchange: Exchange,
    entry: ChangedEntry,
    state: StoppedState,
    earlier: list[PipelineFile],
    gaps: set[int],
) -> None:
    client, change = entry.client, entry.change
    before, after = change.before, change.after
    topics = extended_topics(client, after.pipeline)
    entry.require_room()
    ledger = entry.ledger
    tables = _carried(client, change, state, earlier)
    following = Rewriting(
        after,
        change.becomes,
        client,
        topics,
        ledger,
        state,
        stored_layout(before, state.first),
        wanted_layout(after.pipeline, topics.source),
        gaps,
    )
    following.write(
        exchange,
        tables,
        {
            "pipeline": after.pipeline.name,
            "operator": change.becomes.kind,
            "implementation": change.becomes.implementation,
            "law": change.becomes.law_digest().hex(),
            "reading": reading_digest(after.pipeline),
            "version": after.pipeline.version,
            "sink_key": after.pipeline.sink.key,
            "ledger_topic": "" if ledger is None else ledger.name,
            "ledger_identity": "" if ledger is None else ledger.identity,
        },
        _COMMAND,
        change.digest,
    )


def _carried(
    client: Client, change: CarriedOver, state: StoppedState, earlier: list[PipelineFile]
) -> dict[int, RowTable]:
    """Return all rows under the next law; `StartRefused` where it promises less than was spent."""
    tables = state.tables(change.before, change.was)
    beyond = sum(
        change.carry.beyond(columns)
        for table in tables.values()
        for columns in (table.columns, table.lasting)
    )
    if beyond:
        promised = change.becomes.guarantees()[0].epsilon
        twice = " (twice, because it was spent relative to another model)"
        raise StartRefused(
            f"budget.total: {promised:.6g} nats are promised for the whole life of a stream, and "
            f"{beyond} streams have spent more{twice if change.carry.factor > 1 else ''}. Raise it "
            f"in {change.after.path} to at least what they have spent. Nothing was changed."
        )
    rows = change.rows_of
    if change.carry.form == "replayed":
        rows = released_before(Terminal(stderr=True), client, state, change, earlier).rows_of
    following = change.table()
    return {
        partition: table.converted(*following, rows, change.carry.lasting)
        for partition, table in tables.items()
    }


def _partitions(names: list[str], file: PipelineFile) -> set[int]:
    """Return the partitions of the source that are named as TOPIC:PARTITION."""
    found = set()
    for name in names:
        topic, _, number = name.rpartition(":")
        if topic != file.pipeline.read_topic or not number.isdecimal():
            raise ConfigurationError(
                f"--accept-gap {name}: write {file.pipeline.read_topic}:PARTITION, as the text "
                "of the refused start names it"
            )
        found.add(int(number))
    return found


def _with_partitioner_of(before: PipelineFile, after: PipelineFile) -> PipelineFile:
    """Return the new file with the partitioner of before, where it says `auto`."""
    found = before.pipeline.source.partitioner
    if after.pipeline.source.partitioner != "auto" or found == "auto":
        return after
    return replacing_partitioner(after, found)


def _in_words(change: CarriedOver) -> str:
    """Say what became of budgets and beliefs."""
    factor = change.carry.factor
    spent = "Every stream keeps what it has spent"
    if factor > 1:
        spent = f"What every stream has spent counts {factor} times, since its model is gone"
    return f"{spent}; streams that are exhausted stay so."

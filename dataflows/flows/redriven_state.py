"""Decide what is released of records that are driven again, and make it so, all or nothing.

Everything is computed first. The new state of all shards, and what is to be published, are written
beside the state and made to count together; only then is anything published. A command that was
killed before has changed nothing, and one that was killed later is run once more: it publishes the
same bytes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.flows.dead_letters import Choice
from fugu.dataflows.flows.first_start import own_begin
from fugu.dataflows.flows.former_laws import former_until, former_with
from fugu.dataflows.flows.newest_copy import require_nothing_published_since
from fugu.dataflows.flows.redriven_sinks import RedrivenSinks
from fugu.dataflows.flows.redriving import Offsets, Redriving, chosen_records
from fugu.dataflows.flows.starting import prepared
from fugu.dataflows.flows.state_directories import root_directory, shard_directories
from fugu.dataflows.flows.stopped_state import (
    StoppedState,
    alone_in,
    every_stop,
    newest_tables,
)
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.topics import ends_of
from fugu.dataflows.publishing.lease import Leases, find_control, unit_of
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.durable_file import sync_folder
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.next_directory import write_directory
from fugu.dataflows.state.redrive import FOLDER, Begins, Driven, Tally, due_file
from fugu.dataflows.state.row_table import RowTable

COMMAND = "fugu redrive"


@dataclass(frozen=True)
class _Stopped:
    """Hold the plans of all shards of a pipeline that stopped gracefully, and where it stood."""

    plans: list[StreamsPlan]
    stopped_at: dict[str, int]

    @property
    def state(self) -> StoppedState:
        """Return the state of all shards."""
        directories = [plan.directory for plan in self.plans]
        fingerprints = [plan.fingerprint for plan in self.plans]
        return StoppedState(directories, fingerprints, self.stopped_at)


def decide(
    file: PipelineFile, exchange: Exchange, choice: Choice, *, dry_run: bool
) -> Tally | None:
    """Compute everything, and make it count; return a tally where nothing is left to be done."""
    folder = exchange.root / FOLDER
    driven, tally = Driven.read(folder), Tally()
    with _stopped(file) as stopped:
        plan = stopped.plans[0]
        require_nothing_published_since(plan.client, file, stopped.state)
        driven.require_number(plan.fingerprint.redriven, folder)
        chosen = chosen_records(plan, choice, driven.offsets, tally)
        tables = _tables(file, stopped.plans)
        if dry_run or not chosen:
            Redriving(plan, tables, _nowhere, tally, choice.at_home).drive(chosen)
            return tally
        begins, new = _begins(plan), exchange.new(folder)
        with due_file(new.path) as due:
            done = Redriving(plan, tables, due.add, tally, choice.at_home).drive(chosen)
        if not any(map(len, done.values())):
            return tally
        every, number = _together(driven.offsets, done), driven.number + 1
        Driven(every, tally, begins, due.count, number).write(new.path)
        _write(exchange, stopped, tables)
        old = [plan.directory.path for plan in stopped.plans]
        exchange.decide(old, [*old, folder], COMMAND)
    return None


def driven_again(file: PipelineFile, choice: Choice) -> Tally:
    """Release chosen records of a pipeline that stopped gracefully; finish what was cut short."""
    root = root_directory(file).path
    exchange = Exchange(root)
    with alone_in(root_directory(file)):
        if not exchange.is_decided(COMMAND):
            tally = decide(file, exchange, choice, dry_run=False)
            if tally is not None:
                return tally
        complete(file, exchange)
    return Driven.read(root / FOLDER).tally


def _nowhere(output: object, outgoing: Outgoing) -> None:
    return


@contextmanager
def _stopped(file: PipelineFile) -> Iterator[_Stopped]:
    """Own all shards, and everything that a start checks."""
    directories = shard_directories(file)
    for directory in directories:
        directory.refuse_while_exchanged()
        if directory.is_empty:
            raise ConfigurationError(
                f"there is no state in {directory.path}; has the pipeline run yet, with all shards?"
            )
    plans = [plan for plan in prepared(file, None, StopFlag()) if isinstance(plan, StreamsPlan)]
    try:
        own = [plan.directory for plan in plans]
        yield _Stopped(plans, every_stop(file.path, own, plans[0].fingerprint.partitions))
    finally:
        for plan in plans:
            plan.directory.unlock()


def _tables(file: PipelineFile, plans: list[StreamsPlan]) -> dict[int, RowTable]:
    stage = plans[0].stage
    tables = {
        partition: RowTable(stage.start, stage.ends)
        for partition in range(plans[0].fingerprint.partitions)
    }
    for plan in plans:
        tables |= newest_tables(file, stage.mechanism, plan.directory, plan.fingerprint)
    return tables


def _begins(plan: StreamsPlan) -> Begins:
    """Return where topics end now, behind which the records of this command will stand."""
    partitions = list(range(plan.fingerprint.partitions))
    begins: Begins = {"sink": ends_of(plan.client, plan.fingerprint.sink_topic, partitions)}
    if plan.fingerprint.ledger_topic:
        begins["ledger"] = _ledger_ends(plan.client, plan.fingerprint, partitions)
    return begins


def _ledger_ends(client: Client, stored: Fingerprint, partitions: list[int]) -> dict[str, int]:
    ledger = client.topic(stored.ledger_topic) if stored.ledger_topic else None
    return own_begin(client, ledger, partitions)


def _together(before: Offsets, now: Offsets) -> Mapping[int, np.ndarray]:
    nothing = np.zeros(0, dtype=np.int64)
    return {
        partition: np.union1d(before.get(partition, nothing), now.get(partition, nothing))
        for partition in sorted(before.keys() | now.keys())
    }


def _write(exchange: Exchange, stopped: _Stopped, tables: Mapping[int, RowTable]) -> None:
    """Write the new directories of all shards, whose rows have released what is to be published."""
    fingerprints = [plan.fingerprint for plan in stopped.plans]
    former = former_with(stopped.plans[0].client, fingerprints)
    for plan in stopped.plans:
        stored, own = plan.fingerprint, plan.fingerprint.own_partitions
        begin = {str(partition): stopped.stopped_at[str(partition)] for partition in own}
        dead_letters = ends_of(plan.client, stored.dead_letters_topic, own)
        changed = {
            "source_begin": begin,
            "dead_letters_begin": dead_letters,
            "redriven": stored.redriven + 1,
            "former": former,
        }
        fingerprint, stage = stored.model_copy(update=changed), plan.stage
        write_directory(exchange, plan.directory, fingerprint, tables, (stage.start, stage.ends))


def complete(file: PipelineFile, exchange: Exchange) -> None:
    """Publish what is not yet published, and put the new directories into their places."""
    waiting = {directory.path.stem: directory for directory in exchange.waiting()}
    folder = waiting.pop(FOLDER, None)
    if folder is not None:
        client = client_of(file.connection(), file.pipeline.source.generation)
        fingerprints = {name: _stored(directory) for name, directory in waiting.items()}
        first = next(iter(fingerprints.values()))
        with _held(file, client, waiting, first) as wait:
            driven = Driven.read(folder.path)
            RedrivenSinks(client, first, folder.path, driven, wait).publish()
        former = former_until(client, first.former)
        for name, stored in fingerprints.items():
            own = stored.own_partitions
            changed = {
                "former": former,
                "sink_begin": ends_of(client, stored.sink_topic, own),
                "ledger_begin": _ledger_ends(client, stored, own),
            }
            waiting[name].replace(stored.model_copy(update=changed))
            sync_folder(waiting[name].path)
    exchange.finish()


def _stored(directory: StateDirectory) -> Fingerprint:
    stored = directory.stored()
    assert stored is not None
    return stored


@contextmanager
def _held(
    file: PipelineFile, client: Client, directories: Mapping[str, StateDirectory], one: Fingerprint
) -> Iterator[Callable[[], None]]:
    """Claim the state of all shards, where claims are kept; give what raises if another does."""
    control = find_control(client, file.pipeline, find_ledger(client, file.pipeline))
    units: dict[str, Path] = {
        unit_of(StateDirectory(directory.path.with_name(name)), one.sink_identity): directory.path
        for name, directory in directories.items()
    }
    if control is None:
        yield lambda: None
        return
    with closing(Leases(client, control, file.pipeline.name)) as leases:
        leases.take(units)
        yield partial(_require_held, leases, units)


def _require_held(leases: Leases, units: Iterable[str]) -> None:
    for unit in units:
        leases.require_held(unit)

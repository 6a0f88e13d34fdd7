"""Start the next version of a pipeline, with the budgets of the one before.

From `grr`, which needs no model, to `crr` under a model that may have been learned from what `grr`
released. Rows are written anew: what was spent stays spent, and beliefs are those of a reader of
all releases so far, which are read back from the sanitized topic. The directory of a shard is
exchanged as a whole, and the old one is kept beside it: an interrupted change can be repeated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Annotated

import numpy as np
from rich.console import Console

from fugu.dataflows.base.errors import NEW_PIPELINE, ConfigurationError, StartRefused
from fugu.dataflows.commands.arguments import PipelineArgument, pipeline_option
from fugu.dataflows.commands.published import Streams, published_symbols
from fugu.dataflows.commands.state import newest_tables, require_graceful_stop, stopped
from fugu.dataflows.flows.first_start import own_begin
from fugu.dataflows.flows.found_partitioner import as_begun
from fugu.dataflows.flows.state_directories import shard_directories
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.pipeline.config import reading_digest
from fugu.dataflows.pipeline.mechanisms import columns_of, configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.secrets import read_keys
from fugu.dataflows.pipeline.topics import bounds_of, find_topics
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.publishing.pseudonyms import Pseudonyms
from fugu.dataflows.stages.per_record import exhaustible
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.lease_file import LeaseFile
from fugu.dataflows.state.row_log import RowLog
from fugu.operators.budget import Budgeted, without_budget
from fugu.operators.budget_units import units_of
from fugu.operators.mechanism import Integers, Mechanism, State
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.after_responses import after_responses
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse


@dataclass(frozen=True)
class Change:
    """Hold two versions of one pipeline: `grr` before, `crr` after."""

    before: PipelineFile
    after: PipelineFile
    was: Mechanism
    becomes: Mechanism
    grr: GeneralizedRandomizedResponse
    crr: ConditionalRandomizedResponse
    pseudonyms: Pseudonyms

    def told_by(self, streams: Streams) -> Callable[[list[bytes], State], State]:
        """Return what `crr` goes on with; `StartRefused` unless all releases are there, and the
        new total covers them."""
        start = columns_of(self.after.pipeline, self.becomes)

        def columns(keys: list[bytes], before: State) -> State:
            released = [np.array(streams.get(self._published(key), [])) for key in keys]
            continued = after_responses(self.crr, self.grr, released)
            missing = int((continued["spent"] != before["spent"]).sum())
            if missing:
                raise StartRefused(
                    f"topic {self.before.pipeline.sink.topic} does not hold all releases of "
                    f"{missing} streams any more, so what its readers know cannot be computed. "
                    f"Restore the topic, or {NEW_PIPELINE}."
                )
            self._require_a_total_that_covers(before["spent"])
            fresh = start(len(keys))
            kept = {name: column for name, column in before.items() if name in fresh}
            return {**fresh, **kept, **continued}

        return columns

    def _require_a_total_that_covers(self, spent: Integers) -> None:
        promised = self.becomes.guarantees()[0]
        over = int((spent > units_of(promised.epsilon)).sum())
        if promised.per == "stream" and over:
            raise StartRefused(
                f"budget.total: {promised.epsilon:.6g} nats are promised for the whole life of a "
                f"stream, and {over} streams have spent more. Raise it in {self.after.path} to at "
                "least what they have spent. Nothing was changed."
            )

    def _published(self, key: bytes) -> bytes:
        return key if self.after.pipeline.sink.key == "original" else self.pseudonyms.of(key)


def continue_(
    pipeline: PipelineArgument,
    before: Annotated[
        PipelineFile, pipeline_option("The file of the version before, with grr.", "--after")
    ],
) -> None:
    """Continue the budgets of grr with crr, under the next version of the pipeline.

    Every stream goes on with what it has spent, and with what readers know after all releases so
    far: they are read back from the sanitized topic. The pipeline must have stopped gracefully.
    """
    before, after = as_begun(before), as_begun(pipeline)
    change = change_between(before, after)
    for directory in shard_directories(after):
        _finish_interrupted(directory, before.pipeline.version)
    client = client_of(after.connection(), after.pipeline.source.generation)
    console = Console(stderr=True)
    with stopped(after) as directories:
        waiting = [directory for directory in directories if _is_before(directory, change)]
        for directory in waiting:
            require_graceful_stop(directory)
        streams = dict(published_symbols(console, client, before, change.was)) if waiting else {}
        for directory in waiting:
            beside = StateDirectory(_next_to(directory.path))
            _write(beside, directory, change, streams, client)
            directory.path.rename(_kept_as(directory.path, before.pipeline.version))
            beside.path.rename(directory.path)
    Console().print(
        f"version {after.pipeline.version} of {after.pipeline.name} continues where version "
        f"{before.pipeline.version} stopped, with its budgets; start {after.path}. The old state "
        "is kept beside the new one and holds original keys: delete it when you are satisfied."
    )


def change_between(before: PipelineFile, after: PipelineFile) -> Change:
    """Return what changes; `ConfigurationError` lists everything that may not."""
    old, new = before.pipeline, after.pipeline
    was, becomes = configure(before).mechanism, configure(after).mechanism
    grr, crr = without_budget(was), without_budget(becomes)
    problems = []
    if not isinstance(grr, GeneralizedRandomizedResponse) or type(crr) is not (
        ConditionalRandomizedResponse
    ):
        raise ConfigurationError(
            f"operator.kind: the state of {old.operator.kind} cannot be continued by "
            f"{new.operator.kind}, only that of grr by crr"
        )
    if new.version <= old.version:
        problems.append(f"version: must be above {old.version}, that of {before.path}")
    if crr.gaps is not None:
        problems.append(
            "operator.step: when a release was made is not known any more, so what its readers "
            "know now cannot be computed; delete it"
        )
    if new.sink.key == "none":
        problems.append("sink.key: releases without keys cannot be told apart")
    if isinstance(was, Budgeted) and not isinstance(becomes, Budgeted):
        problems.append("budget: a budget stays; it may become larger or smaller")
    if any(pipeline.budget and pipeline.budget.window for pipeline in (old, new)):
        problems.append("budget.window: only budgets over a stream's life can be carried over")
    if before.resolve(old.state.directory) != after.resolve(new.state.directory):
        problems.append(f"state.directory: must be that of {before.path}")
    if problems:
        raise ConfigurationError(f"{after.path}: " + "\n".join(problems))
    pseudonyms = Pseudonyms(read_keys(after).pseudonyms, new.sink.topic)
    return Change(before, after, was, becomes, grr, crr, pseudonyms)


def _is_before(directory: StateDirectory, change: Change) -> bool:
    """Return whether the shard still has the state of the version before; refuse any other one."""
    stored = directory.stored()
    if stored is None:
        raise ConfigurationError(f"there is no state in {directory.path}; has the pipeline run?")
    old, new = change.before.pipeline, change.after.pipeline
    law = {old.version: change.was.law_digest(), new.version: change.becomes.law_digest()}
    expected = {
        "name": (stored.pipeline, new.name),
        "operator, its parameters, or budget": (stored.law, law.get(stored.version, b"").hex()),
        "secret": (stored.secret_check, read_keys(change.after).noise.check_value()),
        "sink": ((stored.sink_topic, stored.sink_key), (new.sink.topic, new.sink.key)),
        "source.value, partitioner, timestamp or dedupe, or the alphabet": (
            (stored.reading, stored.reading),
            (reading_digest(old), reading_digest(new)),
        ),
    }
    wrong = [name for name, (found, wanted) in expected.items() if found != wanted]
    if wrong:
        raise StartRefused(
            f"{directory.path} was not written by {change.before.path}, or {change.after.path} "
            f"changes more than the operator: {'; '.join(wrong)}. Nothing was changed."
        )
    return stored.version == old.version


def _write(
    beside: StateDirectory,
    directory: StateDirectory,
    change: Change,
    streams: dict[int, Streams],
    client: Client,
) -> None:
    """Write the whole next state of a shard, in a directory of its own."""
    stored, stopped_at = directory.stored(), require_graceful_stop(directory)
    assert stored is not None
    if beside.path.exists():
        rmtree(beside.path)
    beside.path.mkdir(mode=0o700)
    LeaseFile.read(directory.path).write(beside.path)
    beside.create(_fingerprint(stored, stopped_at, change, client))
    ends = exhaustible(change.becomes)
    start = columns_of(change.after.pipeline, change.becomes)
    for partition, before in newest_tables(change.before, change.was, directory, stored):
        told = change.told_by(streams[partition])
        RowLog(beside.rows, partition, start, ends).found(before.converted(start, ends, told))
    beside.note_stop({int(partition): offset for partition, offset in stopped_at.items()})


def _fingerprint(
    stored: Fingerprint, stopped_at: dict[str, int], change: Change, client: Client
) -> Fingerprint:
    """Return the fingerprint of the next version, which begins where the one before stopped."""
    pipeline, partitions = change.after.pipeline, stored.own_partitions
    topics, ledger = find_topics(client, pipeline), find_ledger(client, pipeline)
    sink = bounds_of(client, topics.sink, partitions)
    dead_letters = bounds_of(client, topics.dead_letters, partitions)
    return stored.model_copy(
        update={
            "operator": change.becomes.kind,
            "implementation": change.becomes.implementation,
            "law": change.becomes.law_digest().hex(),
            "version": pipeline.version,
            "source_begin": stopped_at,
            "sink_begin": {str(partition): bound.end for partition, bound in sink.items()},
            "dead_letters_begin": {
                str(partition): bound.end for partition, bound in dead_letters.items()
            },
            "ledger_begin": own_begin(client, ledger, partitions),
        }
    )


def _finish_interrupted(directory: StateDirectory, version: int) -> None:
    """Between two renamings: the next state is complete, and the old one is already aside.

    What a refused start has made in its place since then holds nothing.
    """
    path, following = directory.path, _next_to(directory.path)
    if directory.is_empty and _kept_as(path, version).exists() and following.exists():
        if path.exists():
            rmtree(path)
        following.rename(path)


def _next_to(path: Path) -> Path:
    return path.with_name(f"{path.name}.next")


def _kept_as(path: Path, version: int) -> Path:
    return path.with_name(f"{path.name}.version-{version}")

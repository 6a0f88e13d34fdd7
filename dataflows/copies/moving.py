"""Move a state from disk into Kafka, with every budget, so that copies go on with it.

What ends the command is harmless. From the mark in the directory on, nothing on disk goes on with
the state; until the fingerprint is in the topic, nothing in Kafka does. Blocks without a
fingerprint count as nothing, and the next attempt takes them back.

STATE/moved.json   there from before the first block is written
"""

from contextlib import ExitStack

import orjson

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.copies.moving_parts import StateOnDisk, moving_parts
from fugu.dataflows.copies.sole_member import sole_member
from fugu.dataflows.flows.found_partitioner import as_begun, replacing_partitioner
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.newest_copy import (
    require_newest_claim,
    require_newest_copy,
    require_newest_merge,
)
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.sections import is_merged
from fugu.dataflows.flows.state_directories import (
    merge_directory,
    policies_directory,
    root_directory,
)
from fugu.dataflows.flows.stopped_beside import BesideShards, MergeOnDisk, stopped_beside
from fugu.dataflows.flows.stopped_state import alone_in, stopped_state
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.state.directory import MOVED, MovedDirectory
from fugu.dataflows.state.durable_file import replace_durably

_MAY_CHANGE = ("state", "kafka", "metrics", "alert", "logs")


def move(old: PipelineFile, new: PipelineFile) -> int:
    """Move the state of OLD, on disk, to where NEW says; return how many streams it has."""
    before = as_begun(old)
    partitioner = before.pipeline.source.partitioner
    after = new if partitioner == "auto" else replacing_partitioner(new, partitioner)
    require_only_another_store(before, after)
    root = root_directory(before)
    with alone_in(root), ExitStack() as owned:
        stopped = owned.enter_context(stopped_state(root.path, of=MovedDirectory))
        given = Given.by(after)
        require_newest_copy(given.client, before, stopped)
        on_disk = StateOnDisk(before, stopped, *_beside(before, given.client, owned))
        parts = moving_parts(Preparation(given, StopFlag(), None), on_disk)
        first, state = parts[0], parts[0].state
        stored = state.stored()
        if stored is None:
            topic = {"topic": state.topic.name, "identity": state.topic.identity}
            replace_durably(root.path / MOVED, orjson.dumps(topic))
            assert given.copies is not None
            read = [part.topic for part in parts]
            with sole_member(given.copies, after.pipeline.name, *read) as sole:
                for part in parts:
                    part.write(given.copies, sole)
                for part in reversed(parts):
                    part.begin()
        else:
            first.require_own(stored)
        return sum(map(len, first.tables.values()))


def _beside(
    file: PipelineFile, client: Client, owned: ExitStack
) -> tuple[MergeOnDisk | None, BesideShards | None]:
    """Own what an aggregate has beside its shards, of which nobody has a newer copy."""
    merge = policies = None
    if is_merged(file.pipeline):
        directory = merge_directory(file, MovedDirectory)
        merge = owned.enter_context(stopped_beside(directory, MergeOnDisk))
        require_newest_merge(client, file, merge)
    if file.pipeline.source.policies is not None:
        directory = policies_directory(file, MovedDirectory)
        policies = owned.enter_context(stopped_beside(directory, BesideShards))
        require_newest_claim(client, file, policies)
    return merge, policies


def require_only_another_store(old: PipelineFile, new: PipelineFile) -> None:
    """Raise `ConfigurationError` unless two files differ in the store, and what goes with it."""
    if old.pipeline.state.in_kafka == new.pipeline.state.in_kafka:
        raise ConfigurationError(
            "a state is moved from a file with state.store: disk to one with state.store: kafka, "
            "or back; these two say the same"
        )
    present = {name: getattr(new.pipeline, name) for name in _MAY_CHANGE}
    if old.pipeline.model_copy(update=present) != new.pipeline:
        raise ConfigurationError(
            f"{new.path}: only {', '.join(_MAY_CHANGE)} may differ from {old.path}. Other changes "
            "are those of fugu migrate, before the state is moved"
        )

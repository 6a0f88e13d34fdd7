"""Write into the ledger what a pipeline promises after a migration, and shut out what was before.

Whatever is written can be written again: a command that was killed in here is run once more.
"""

import logging
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.flows.carrying_over import CarriedOver
from fugu.dataflows.flows.pipeline_entry import pipeline_entry
from fugu.dataflows.flows.state_directories import shard_directories
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.source_budget import check
from fugu.dataflows.publishing.lease import Leases, find_control, unit_of
from fugu.dataflows.publishing.ledger_topic import (
    PipelineEntry,
    find_ledger,
    read_ledger,
    withdraw_entry,
    write_entry,
)
from fugu.dataflows.publishing.promise import publish_promise
from fugu.dataflows.publishing.registration import continued, promises_of
from fugu.operators.mechanism import Mechanism

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChangedEntry:
    """Hold a pipeline before and after a migration, and the Kafka of both."""

    client: Client
    change: CarriedOver

    def require_room(self) -> None:
        """Raise `StartRefused` if both laws together exceed a declared `source.budget`, or if the
        new name is that of another pipeline."""
        if self.ledger is not None:
            self._refuse_a_name_of_another(self.ledger)
            self._composed(self.ledger)

    def write(self) -> None:
        """Enter what both laws promise, and let no copy of the state of before start again."""
        if self.ledger is not None:
            entry = self._composed(self.ledger)
            write_entry(self.client, self.ledger, entry)
            if self._was.key() != entry.key():
                withdraw_entry(self.client, self.ledger, self._was)
        self._promise()
        self._retire()

    def _promise(self) -> None:
        """Say to readers of the sink where releases under the law of now begin."""
        after = self.change.after
        sink = self.client.topic(after.pipeline.sink.topic)
        if sink is not None:
            publish_promise(self.client, after, self.change.becomes, sink)

    def _refuse_a_name_of_another(self, ledger: Topic) -> None:
        """Refuse to take the place of an entry whose promise counts."""
        name, topic = self.change.after.pipeline.name, self._was.source
        if name == self._was.pipeline:
            return
        content = read_ledger(self.client, ledger)
        there = {(one.pipeline, one.source) for one in content.pipelines}
        there |= {(one.pipeline, one.source) for one in content.unreadable}
        if (name, topic) in there:
            raise StartRefused(
                f"name: ledger {ledger.name} has an entry of another pipeline {name} over "
                f"{topic}. Write a name that nobody has had. Nothing was changed."
            )

    @cached_property
    def ledger(self) -> Topic | None:
        """Return the ledger of from now on; None without one."""
        return find_ledger(self.client, self.change.after.pipeline)

    @cached_property
    def _was(self) -> PipelineEntry:
        return self._entry(self.change.before, self.change.was)

    def _entry_of_now(self) -> PipelineEntry:
        return self._entry(self.change.after, self.change.becomes)

    def _entry(self, file: PipelineFile, mechanism: Mechanism) -> PipelineEntry:
        pipeline = file.pipeline
        source, sink = map(self.client.topic, (pipeline.source.topic, pipeline.sink.topic))
        assert source is not None
        return pipeline_entry(pipeline, source, sink, mechanism)

    def _composed(self, ledger: Topic) -> PipelineEntry:
        """Return the entry of now, with what was promised before."""
        entry = self._entry_of_now()
        same = (entry.source, entry.source_identity)
        entries = [
            found
            for found in read_ledger(self.client, ledger).pipelines
            if (found.source, found.source_identity) == same
        ]
        own = {found.pipeline: found for found in entries}
        known = own.get(entry.pipeline) or own.get(self._was.pipeline) or self._was
        entry = replace(continued(entry, known), pipeline=entry.pipeline)
        names = entry.pipeline, self._was.pipeline
        others = [found for found in entries if found.pipeline not in names]
        check(entry.source, promises_of([*others, entry]))
        return entry

    def _retire(self) -> None:
        """Claim what the state was before, if that has another name or sink now.

        A copy of it that was made before would otherwise find its last claim still valid.
        """
        was, now = self._was, self._entry_of_now()
        if (was.pipeline, was.sink_identity) == (now.pipeline, now.sink_identity):
            return
        former = self.change.before.pipeline
        control = find_control(self.client, former, find_ledger(self.client, former))
        if control is None or not was.sink_identity:
            return
        units = [unit_of(one, was.sink_identity) for one in shard_directories(self.change.before)]
        with closing(Leases(self.client, control, was.pipeline)) as leases:
            leases.retire(units)

"""Be one copy of a pipeline: read what the group gives, and commit rows, releases and positions.

A cut is taken between two polls, when nothing is on its way through the dataflow. What a cut writes
is one transaction: releases, dead letters, ledger entries, the changed rows of every partition that
moved, and the positions in the source. Whoever has lost a partition cannot commit it, because Kafka
takes positions from a present member of the group only.
"""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.base.errors import FuguError, GivenAway, ShutOut, StartRefused
from fugu.dataflows.base.metrics import (
    FOREIGN_WRITES,
    RECORDS_IN,
    RESTORES,
    SNAPSHOT_AGE,
    Metrics,
)
from fugu.dataflows.copies.others import others_between
from fugu.dataflows.copies.owned import Owned, Taken
from fugu.dataflows.copies.takeover import Standby, Takeover, transactional_id
from fugu.dataflows.copies.work import work_of
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.kafka.client import CopyClient, Rebalance, identity_of
from fugu.dataflows.kafka.release_times import ReleaseTimes
from fugu.dataflows.kafka.sink import count_out
from fugu.dataflows.state.state_topic import StateTopic

Written = Sequence[Outgoing]
"""Hold the records that a batch has become, for each output of the plan, in its order."""

Polled = tuple[float, Batch]
"""A batch, and the moment of the poll that brought it."""

_SHORTEST_TRANSACTION_SECONDS = 10.0
_EVERY_IN_TRANSACTION = 10
_SAID_EVERY_SECONDS = 15.0
_ALL_GIVEN_AWAY = "the consumer group has given all partitions to other copies"
_MARKER = 1
"""A commit leaves a mark in every partition that it wrote to."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class CopySettings:
    """Say what the copy is called, how often it cuts, in seconds, and whom it follows."""

    instance: str
    every: float
    standby: Standby = "none"

    @property
    def milliseconds(self) -> int:
        """Return how long a transaction may last."""
        seconds = max(_SHORTEST_TRANSACTION_SECONDS, _EVERY_IN_TRANSACTION * self.every)
        return int(seconds * 1000)


@dataclass(eq=False)
class Copy(Rebalance):
    """Own some partitions, and know what is on its way; one thread calls everything here."""

    plan: Plan
    client: CopyClient
    state: StateTopic
    settings: CopySettings
    owned: dict[int, Owned[Any]] = field(default_factory=dict, init=False)
    in_flight: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        self._topic, metrics = plan.fingerprint.source_topic, plan.metrics
        self._outputs = plan.outputs()
        self._work = work_of(plan)
        self._times = ReleaseTimes(self._topic, metrics)
        self._given: list[int] = []
        self._held = list[Polled]()
        self._member_id = ""
        self._lost = self._left = False
        self._cut_at = self._waiting_since = time.monotonic()
        identity = transactional_id(plan.name, self.settings.instance)
        milliseconds = self.settings.milliseconds
        self._writer = self.client.copy_writer(identity, milliseconds)
        self._reader = self.client.reader(self._topic, headers=plan.reads_headers)
        self._takeover = Takeover(
            plan,
            self.client,
            self.state,
            self.settings.instance,
            milliseconds,
            self.settings.standby,
        )
        self._member = self.client.member(identity_of(plan.name), self._topic, self)

    @property
    def metrics(self) -> Metrics:
        """Return where this process counts."""
        return self.plan.metrics

    # between two polls

    def next_batch(self) -> list[Taken]:
        """Return what has arrived; nothing while something is on its way. Ends after a stop."""
        if self.in_flight:
            return []
        try:
            return self._next()
        except (StartRefused, ShutOut):
            self._require_counted_in()
            raise

    def _require_counted_in(self) -> None:
        """Raise `GivenAway` where the group has counted this copy out, as while it stood still.

        Others have gone on by then, and what they wrote looks like a fault to whoever does not know
        it. Nothing is committed any more.
        """
        self.give_up()
        self._member.listen()
        if self._lost:
            raise GivenAway(_ALL_GIVEN_AWAY) from None

    def _next(self) -> list[Taken]:
        self._member.poll()
        if self._lost:
            raise GivenAway(_ALL_GIVEN_AWAY)
        if self._given:
            self.cut()
            self._take_over()
        if self.plan.stop.requested:
            self._give_up_properly([*self.owned])
            self.leave()
            raise StopIteration
        if time.monotonic() - self._cut_at >= self.settings.every:
            self.cut()
        if self.plan.finishing is not None:
            self._end_once_finished()
            return []
        self._takeover.follow(self.owned)
        return self._polled() if self.owned else []

    def _polled(self) -> list[Taken]:
        room = self.plan.max_batch - sum(len(batch.offsets) for _, batch in self._held)
        if room > 0:  # partitions go on beside one that waits, until it fills everything
            moment = time.monotonic()
            self._held += [(moment, batch) for batch in self._reader.poll(room)]
        ready = self._ready()
        for moment, batch in ready:
            self._require_following(batch)
            self.metrics.add(RECORDS_IN, len(batch.offsets), self._topic, batch.partition)
            self._times.read(batch.partition, moment, len(batch.offsets))
        self.in_flight += len(ready)
        return [Taken(self.owned[batch.partition], batch) for _, batch in ready]

    def _ready(self) -> list[Polled]:
        """Take out what can be read now; a partition waits from its first batch on that cannot."""
        ready, held, waiting = list[Polled](), list[Polled](), set[int]()
        for moment, batch in self._held:
            if batch.partition in waiting or not self.plan.is_ready(batch):
                waiting.add(batch.partition)
                held.append((moment, batch))
            else:
                ready.append((moment, batch))
        self._held = held
        return ready

    def _require_following(self, batch: Batch) -> None:
        """Raise `FuguError` for records that are in a table already: they would be paid twice."""
        owned = self.owned.get(batch.partition)
        if owned is None or batch.offsets[0] < owned.position:
            raise FuguError(
                f"topic {self._topic}, partition {batch.partition}: Kafka returned records from "
                f"offset {batch.offsets[0]} on, which were not asked for"
            )

    def _take_over(self) -> None:
        given, self._given = self._given, []
        for owned in self._takeover.owned(given, self._member):
            partition = owned.partition
            self.owned[partition] = owned
            self.metrics.add(RESTORES, 1, self._topic, partition)
            self._work.resumed(partition, owned.table)
            if owned.finished and self.plan.finishing is None:
                raise StartRefused(
                    f"partition {partition}: its streams are finished, and what they held back is "
                    "published. Run the pipeline with --finish only."
                )
        self._assign()

    def _finish(self, owned: Owned[Any]) -> None:
        """Let out what the streams of a partition hold back, once."""
        assert self.plan.finishing is not None
        if not owned.finished:
            made = self._work.finish(owned.partition, owned.table, self.plan.finishing)
            self._write(owned, self.published(made))
            owned.finished = owned.touched = True
            self.cut()

    def _end_once_finished(self) -> None:
        """Finish every partition and stop, once all are here; say whom that waits for.

        Nobody goes on with a finished partition, so none is finished while other copies run.
        """
        missing = self.plan.fingerprint.partitions - len(self.owned)
        if not missing:
            for owned in self.owned.values():
                self._finish(owned)
            self.plan.stop.request()
        elif time.monotonic() - self._waiting_since > _SAID_EVERY_SECONDS:
            self._waiting_since = time.monotonic()
            log.warning(
                "%d partitions are those of other copies; stop them, so that --finish can end",
                missing,
            )

    def _assign(self) -> None:
        """Read what is owned, from where each table stands."""
        self._held = []
        self._reader.assign({one: owned.position for one, owned in self.owned.items()})
        for partition, owned in self.owned.items():
            self.metrics.standing.positions[self._topic, partition] = owned.position
            self.metrics.put(SNAPSHOT_AGE, time.monotonic(), self._topic, partition)

    # steps of the dataflow, which change what an item refers to

    def decoded(self, taken: Taken) -> Any:
        """Return what is read of a batch."""
        return self._work.decoded(taken.batch)

    def sanitized(self, taken: Taken, decoded: Any) -> Any:
        """Return what becomes of a batch, by the table of its partition."""
        return self._work.made(decoded, taken.owned.table)

    def published(self, made: Any) -> Written:
        """Return the records for every output."""
        return [output.records(made) for output in self._outputs]

    def write(self, taken: Taken, written: Written) -> None:
        """Hand over what a batch has become, which ends its way."""
        owned = taken.owned
        try:
            self._write(owned, written)
        except ShutOut:
            self._require_counted_in()
            raise
        owned.position = int(taken.batch.offsets[-1]) + 1
        owned.touched = True
        self.in_flight -= 1

    def _write(self, owned: Owned[Any], written: Written) -> None:
        for account, records in zip(owned.accounts, written, strict=True):
            account.note(records)
            self._writer.write(account.topic, replace(records, partition=account.partition))
            count_out(self.metrics, account.topic, account.partition, records)

    # the cut

    def cut(self) -> None:
        """Commit everything since the last cut, if there is anything."""
        self._cut_at = time.monotonic()
        for owned in self.owned.values():
            self._pass_marks(owned)
        touched = [owned for owned in self.owned.values() if owned.touched]
        if touched:
            self._commit(touched)
        for partition in self.owned:
            self.metrics.put(SNAPSHOT_AGE, self._cut_at, self._topic, partition)

    def _commit(self, touched: list[Owned[Any]]) -> None:
        epoch, topic = self._member.metadata().generation, self.state.topic.name
        written: dict[int, int] = {}
        for owned in touched:
            progress = owned.progress(self.settings.instance, epoch)
            records = owned.chain.append(owned.table, progress)
            written[owned.partition] = len(records)
            place = self.state.place(owned.partition)
            self._writer.put(topic, place, self.state.sealed(place, records))
        self._writer.acknowledge()
        for owned in touched:
            self._require_alone(owned, written[owned.partition])
        group = self._member.metadata()  # now: one from before may be of an older generation
        if self._lost or not group.is_of(self._member_id):
            raise GivenAway("the consumer group has given the partitions to other copies")
        positions = {owned.partition: owned.position for owned in touched}
        self._writer.send_offsets({self._topic: positions}, group)
        self._writer.commit()
        for owned in touched:
            self._committed(owned)

    def _pass_marks(self, owned: Owned[Any]) -> None:
        """Move on behind marks of transactions, which are no records, unless a batch waits.

        That is committed, too: once retention has removed them, they would seem to be lost records.
        """
        behind = self._reader.position(owned.partition)
        waits = any(batch.partition == owned.partition for _, batch in self._held)
        if behind is not None and behind > owned.position and not waits:
            owned.position, owned.touched = behind, True
        self.metrics.standing.positions[self._topic, owned.partition] = owned.position

    def _require_alone(self, owned: Owned[Any], count: int) -> None:
        """Find out whether somebody else has written to this partition of the state."""
        topic, partition = self.state.topic.name, self.state.place(owned.partition)
        end = self._writer.acknowledged_end(topic, partition)
        assert end is not None
        first = end - count
        found = others_between(self.client, topic, partition, owned.end, first)
        self.metrics.add(FOREIGN_WRITES, found, topic, partition)
        owned.end = end + _MARKER

    def _committed(self, owned: Owned[Any]) -> None:
        owned.touched = False
        self._times.end_epoch(owned.partition)
        self._times.acknowledged(owned.partition)
        self._work.written(owned.partition, owned.table)
        for account in owned.accounts:
            end = self._writer.acknowledged_end(account.topic, account.partition)
            if account.close(end, owned.position):
                log.warning(
                    "topic %s, partition %d: releases that a copy had written when it died did not "
                    "come back; they were aborted and do not count",
                    account.topic,
                    account.partition,
                    extra={"topic": account.topic, "partition": account.partition},
                )

    # what the group says

    def given(self, partitions: Sequence[int], member: str) -> None:
        known = self.plan.fingerprint.partitions  # those that were added since are not read
        self._given += [one for one in partitions if one < known]
        self._member_id = member
        self._note_spare()

    def taken(self, partitions: Sequence[int]) -> None:
        """Commit, and forget; the next owner is told once this returns."""
        self._given = [one for one in self._given if one not in partitions]
        if not set(partitions) & self.owned.keys():
            return
        self._give_up_properly([one for one in partitions if one in self.owned])
        for partition in partitions:
            self._forget(partition)
        self._takeover.given_up(partitions)
        self._note_spare()
        self._assign()

    def _give_up_properly(self, partitions: Sequence[int]) -> None:
        """Commit; where many write to one topic, say that nothing of these is left open there."""
        for partition in partitions if self.plan.shares_sink else ():
            self.owned[partition].left = self.owned[partition].touched = True
        self.cut()

    def lost(self) -> None:
        """Forget everything: tables are ahead of what is committed, and others own them."""
        self._lost = True
        self.give_up()

    def leave(self) -> None:
        """Leave the group, after the last cut."""
        self._forget_all()
        self._left = True
        self._member.close()
        self._close()

    def give_up(self) -> None:
        """Abort, and forget all tables, which are ahead of the last cut."""
        self._forget_all()
        self._writer.abandon()

    def close(self) -> None:
        """Give up, and leave the group; nothing is committed here."""
        if not self._left:
            self._left = True
            self.give_up()
            with suppress(RuntimeError):
                self._member.close()
            self._close()

    def _close(self) -> None:
        self._writer.close()
        self._reader.close()
        self._takeover.close()

    def _forget_all(self) -> None:
        self._given.clear()
        for partition in list(self.owned):
            self._forget(partition)
        self.in_flight = 0

    def _forget(self, partition: int) -> None:
        if self.owned.pop(partition, None) is not None:
            self._work.forget(partition)
            self.metrics.forget(self._topic, partition)

    def _note_spare(self) -> None:
        if self.plan.reads_source:
            self.metrics.standing.spare = not self.owned and not self._given

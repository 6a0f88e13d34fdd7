"""Be one copy of a pipeline: read what the group gives, and commit rows, releases and positions.

A cut is taken between two polls, when nothing is on its way through the dataflow. It commits a
transaction, with every partition that moved since the cut before.
"""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fugu.dataflows.base.errors import GivenAway, ShutOut, StartRefused
from fugu.dataflows.base.metrics import RESTORES, SNAPSHOT_AGE, Metrics
from fugu.dataflows.copies.covering import intake_of
from fugu.dataflows.copies.instance import transactional_id
from fugu.dataflows.copies.owned import Owned, Taken
from fugu.dataflows.copies.settings import CopySettings
from fugu.dataflows.copies.takeover import Takeover
from fugu.dataflows.copies.transaction import Transaction, Written
from fugu.dataflows.copies.work import work_of
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.kafka.client import CopyClient, GroupMetadata, Rebalance, identity_of
from fugu.dataflows.kafka.source import ReleaseTimes
from fugu.dataflows.state.state_topic import StateTopic

_SAID_EVERY_SECONDS = 15.0
_ALL_GIVEN_AWAY = "the consumer group has given all partitions to other copies"

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Copy(Rebalance):
    """Own some partitions, and know what is on its way; one thread calls everything here."""

    plan: Plan
    client: CopyClient
    state: StateTopic
    settings: CopySettings
    owned: dict[int, Owned[Any]] = field(default_factory=dict, init=False)
    in_flight: int = field(default=0, init=False)
    beside: Sequence["Copy"] = field(default=(), init=False)
    """Other copies of the same thread, which wait while this one takes partitions over."""

    def __post_init__(self) -> None:
        plan, settings = self.plan, self.settings
        self._topic, name = plan.fingerprint.source_topic, settings.instance
        self._outputs = plan.outputs()
        self._work = work_of(plan)
        self._times = ReleaseTimes(self._topic, plan.metrics)
        self._given: list[int] = []
        self._member_id = ""
        self._lost = self._left = False
        self._cut_at = self._waiting_since = time.monotonic()
        length = settings.milliseconds
        self._writer = self.client.copy_writer(transactional_id(plan.name, name), length)
        self._transaction = Transaction(plan, self.state, self._writer, name)
        self._reader = plan.reader(self._topic)
        self._intake = intake_of(plan, self._reader, self._times)
        standby = settings.standby
        self._takeover = Takeover(plan, self.client, self.state, name, length, standby)
        self.metrics.standing.joins(self._topic)
        self._member = self.client.member(identity_of(plan.name), self._topic, self)

    @property
    def metrics(self) -> Metrics:
        """Return where this process counts."""
        return self.plan.metrics

    @property
    def is_given(self) -> bool:
        """Return whether partitions are to be taken over."""
        return bool(self._given)

    # between two polls

    def next_batch(self) -> list[Taken]:
        """Return what has arrived; nothing while something is on its way. Ends after a stop."""
        if self.in_flight:
            return []
        try:
            return self._next()
        except (StartRefused, ShutOut):
            self._require_counted_in()
            self.plan.same_topics.require_now()
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
        if self.plan.stop.requested and self._member.stood_still:
            self._member.listen()  # or the last cut would wait for a group that goes on without us
        self._member.poll()
        if self._lost:
            raise GivenAway(_ALL_GIVEN_AWAY)
        self.plan.same_topics.require_after_a_pause()
        if self._given:
            if any(one.in_flight for one in self.beside):
                return []
            for one in self.beside:
                one.cut_before_a_wait()
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
        found = self._intake.next(self.owned) if self.owned else []
        taken = [Taken(owned, batch) for owned, batch in found]
        self.in_flight += len(taken)
        return taken

    def cut_before_a_wait(self) -> None:
        """Commit what is open; it would expire while partitions are taken over, which may last."""
        try:
            self.cut()
        except (StartRefused, ShutOut):
            self._require_counted_in()
            raise

    def _take_over(self) -> None:
        """Take what is given over, and claim it before anything else is written: if this copy dies,
        whoever comes next has to know whose transaction to end."""
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
        self.cut()

    def _finish(self, owned: Owned[Any]) -> None:
        """Let out what the streams of a partition hold back, once."""
        assert self.plan.finishing is not None
        if not owned.finished:
            made = self._work.finish(owned.partition, owned.table, self.plan.finishing)
            self._transaction.write(owned, self.published(made))
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
                self._intake.say_what_is_unread(owned)
            self.plan.stop.request()
        elif time.monotonic() - self._waiting_since > _SAID_EVERY_SECONDS:
            self._waiting_since = time.monotonic()
            log.warning(
                "%d partitions are those of other copies; stop them, so that --finish can end",
                missing,
            )

    def _assign(self) -> None:
        """Read what is owned, from where each table stands."""
        self._intake.assign(self.owned.values())
        for owned in self.owned.values():
            self._show_position(owned)

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
            self._transaction.write(owned, written)
        except ShutOut:
            self._require_counted_in()
            raise
        self._intake.taken_in(owned, taken.batch)
        self.in_flight -= 1

    # the cut

    def cut(self) -> None:
        """Commit everything since the last cut, if there is anything."""
        self._cut_at = time.monotonic()
        for owned in self.owned.values():
            self._intake.pass_marks(owned)
        touched = [owned for owned in self.owned.values() if owned.touched]
        if touched:
            epoch = self._member.metadata().generation
            self._transaction.commit(touched, epoch, self._present)
        for owned in touched:
            self._times.end_epoch(owned.partition)
            self._times.acknowledged(owned.partition)
            self._work.written(owned.partition, owned.table)
        for owned in self.owned.values():
            self._show_position(owned)

    def _present(self) -> GroupMetadata:
        """Return the membership as it is now; `GivenAway` where it is not that of what is owned."""
        group = self._member.metadata()
        if self._lost or not group.is_of(self._member_id):
            raise GivenAway("the consumer group has given the partitions to other copies")
        return group

    def _show_position(self, owned: Owned[Any]) -> None:
        partition = owned.partition
        self.metrics.standing.positions[self._topic, partition] = owned.position
        self.metrics.put(SNAPSHOT_AGE, time.monotonic(), self._topic, partition)

    # what the group says

    def given(self, partitions: Sequence[int], member: str) -> None:
        known = self.plan.fingerprint.partitions  # those that were added since are not read
        self._given += [one for one in partitions if one < known]
        self._member_id = member
        self.metrics.standing.joined(self._topic)
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

    def troubled(self, error: str) -> None:
        self.metrics.standing.troubled(self._topic, error)

    def _give_up_properly(self, partitions: Sequence[int]) -> None:
        """Commit, and say in the last blocks that nothing of these partitions is left open.

        An idle one, whose last block is committed, says so only where many write to one topic.
        """
        for owned in [self.owned[partition] for partition in partitions]:
            owned.left = True
            owned.touched = owned.touched or self.plan.written_log is not None
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
        self._transaction.abandon()

    def close(self) -> None:
        """Give up, and leave the group; nothing is committed here."""
        if not self._left:
            self._left = True
            self.give_up()
            with suppress(RuntimeError):
                self._member.close()
            self._close()

    def _close(self) -> None:
        self._transaction.close()
        self._intake.close()
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

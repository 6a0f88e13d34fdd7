"""Write the records of a source into an internal topic by user, each exactly once.

A record and the position behind it are committed in one transaction, as Kafka Streams does where it
repartitions.
"""

import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from fugu.dataflows.base.errors import GivenAway, ShutOut, StartRefused
from fugu.dataflows.base.metrics import Metrics
from fugu.dataflows.copies.by_user import ByUser
from fugu.dataflows.copies.by_user_positions import Positions
from fugu.dataflows.copies.instance import forwarding, transactional_id
from fugu.dataflows.copies.intake import Intake, epochs_of
from fugu.dataflows.copies.settings import CopySettings
from fugu.dataflows.kafka.client import CopyClient, Rebalance
from fugu.dataflows.kafka.passing_reader import PassingReader
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.state.same_topics import SameTopics

_PAUSE_SECONDS = 0.005
_PATIENCE_SECONDS = 60.0
_MOST_BEGINNINGS, _WITHIN_SECONDS = 5, 60.0

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Read:
    """Hold how far a partition of the source is read; `touched` is to be committed."""

    partition: int
    position: int
    touched: bool = False
    epoch: int | None = None


@dataclass(eq=False)
class Forwarder(Rebalance):
    """Read the partitions of the source that a consumer group gives, and write them by user.

    `name` is that of this process, or of its part.
    """

    what: ByUser
    name: str
    client: CopyClient
    stop: StopFlag
    metrics: Metrics
    same_topics: SameTopics
    _owned: dict[int, _Read] = field(default_factory=dict, init=False)
    _given: list[int] = field(default_factory=list, init=False)
    _member_id: str = field(default="", init=False)
    _lost: bool = field(default=False, init=False)

    def run(self) -> None:
        """Write until a stop is requested; begin again where the group went on without us."""
        beginnings: deque[float] = deque(maxlen=_MOST_BEGINNINGS)
        try:
            while not self.stop.requested:
                beginnings.append(time.monotonic())
                try:
                    self._run()
                except (GivenAway, ShutOut) as error:
                    lasted = time.monotonic() - beginnings[0]
                    if len(beginnings) == _MOST_BEGINNINGS and lasted < _WITHIN_SECONDS:
                        raise
                    log.warning("%s What was not committed is aborted. Beginning again.", error)
                except StartRefused:
                    self.same_topics.require_now()
                    raise
        finally:
            self.stop.request()

    def _run(self) -> None:
        what, self._lost = self.what, False
        settings = CopySettings(instance=self.name, every=what.every)
        identity = transactional_id(what.pipeline, forwarding(self.name))
        self._milliseconds = settings.milliseconds
        self._writer = self.client.copy_writer(identity, self._milliseconds)
        reader = self.client.reader(what.source, headers=what.codec.reads_headers)
        self._reader = PassingReader(what.source, reader)
        self._intake = Intake(
            what.source, self._reader, what.max_batch, what.codec.is_ready, self.metrics
        )
        self.metrics.standing.joins(what.source)
        self._member = self.client.member(what.group, what.source, self)
        try:
            self._write_on()
            self._cut()
        finally:
            self._forget()
            self._writer.abandon()
            self._member.close()
            self._writer.close()
            self._intake.close()

    def _write_on(self) -> None:
        cut_at = time.monotonic()
        while not self.stop.requested:
            self._member.poll()
            if self._lost:
                raise GivenAway(f"consumer group {self.what.group} has counted this process out.")
            self.same_topics.require_after_a_pause()
            if self._given:
                self._cut()
                self._take_over()
            taken = self._intake.next(self._owned) if self._owned else []
            for read, batch in taken:
                for outgoing in self.what.outgoing(batch):
                    self._writer.write(self.what.topic, outgoing)
                self._intake.taken_in(read, batch)
            if time.monotonic() - cut_at >= self.what.every:
                self._cut()
                cut_at = time.monotonic()
            if not taken:
                time.sleep(_PAUSE_SECONDS)

    def _cut(self) -> None:
        """Commit what was written, with the positions behind it."""
        for read in self._owned.values():
            self._intake.pass_marks(read)
        touched = [read for read in self._owned.values() if read.touched]
        if not touched:
            return
        self._writer.acknowledge()
        self.same_topics.require()
        group = self._member.metadata()
        if self._lost or not group.is_of(self._member_id):
            raise GivenAway(f"consumer group {self.what.group} has given partitions to others.")
        positions = {read.partition: read.position for read in touched}
        self._writer.send_offsets({self.what.source: positions}, group, epochs_of(touched))
        self._writer.commit()
        for read in touched:
            read.touched = False
            self._show(read)

    def _take_over(self) -> None:
        self.same_topics.require()
        given, self._given = self._given, []
        seconds = _PATIENCE_SECONDS + self._milliseconds / 1000
        positions = Positions(self.what, self.client, self._reader, self._member, seconds)
        for partition, (position, known) in positions.of(given).items():
            epoch = self._member.committed_epoch(partition) if known else None
            self._owned[partition] = _Read(partition, position, not known, epoch)
            self._show(self._owned[partition])
        self._assign()

    def _assign(self) -> None:
        self._intake.assign(self._owned.values())

    def _show(self, read: _Read) -> None:
        place = self.what.source, read.partition
        self.metrics.standing.positions[place] = read.position

    def _forget(self) -> None:
        for partition in self._owned:
            self.metrics.standing.positions.pop((self.what.source, partition), None)
        self._owned.clear()
        self._given.clear()

    # what the group says

    def given(self, partitions: Sequence[int], member: str) -> None:
        self._given += partitions
        self._member_id = member
        self.metrics.standing.joined(self.what.source)

    def troubled(self, error: str) -> None:
        self.metrics.standing.troubled(self.what.source, error)

    def taken(self, partitions: Sequence[int]) -> None:
        """Commit, and forget; the next owner is told once this returns."""
        self._given = [one for one in self._given if one not in partitions]
        if not set(partitions) & self._owned.keys():
            return
        self._cut()
        for partition in partitions:
            self._owned.pop(partition, None)
            self.metrics.standing.positions.pop((self.what.source, partition), None)
        self._assign()

    def lost(self) -> None:
        """Forget everything: others own it."""
        self._lost = True
        self._forget()

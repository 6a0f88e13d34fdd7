"""Be a member of a consumer group, or look at one."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from confluent_kafka import (
    OFFSET_END,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import (
    Group,
    GroupMember,
    GroupMetadata,
    Groups,
    GroupState,
    Member,
    Place,
    Rebalance,
)
from fugu.dataflows.kafka.native.copy_writer import ending_unless_back
from fugu.dataflows.kafka.native.library import LoginTroubles, name_of
from fugu.dataflows.kafka.native.settings import Settings

_LOOK_SECONDS = 5.0
_LATE_SECONDS = 5.0
"""The time that librdkafka takes to say that there was no answer."""
_HIDDEN = 0
"""librdkafka's log says nothing: what a person should know is an error."""
_STATES: dict[str, GroupState] = {"STABLE": "settled", "EMPTY": "empty", "DEAD": "empty"}


class NativeGroups(Groups):
    """Ask by an admin client; what calls itself `own` is a member of Fugu's."""

    def __init__(self, settings: Settings, troubles: LoginTroubles, own: str) -> None:
        self._troubles, self._own = troubles, own
        asking: Settings = {**settings, "log_level": _HIDDEN, "error_cb": self._told}
        self._admin = AdminClient(asking)

    def group(self, name: str) -> Group:
        asked = self._admin.describe_consumer_groups([name], request_timeout=_LOOK_SECONDS)
        try:
            found = _answer(asked[name])
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return Group("empty", ())
            raise _unavailable(error) from None
        return Group(
            _STATES.get(found.state.name, "dealing"),
            [
                Member(
                    one.client_id,
                    one.host.removeprefix("/"),
                    one.client_id == self._own,
                    frozenset((p.topic, p.partition) for p in one.assignment.topic_partitions),
                )
                for one in found.members
            ],
        )

    def committed(self, name: str, places: Sequence[Place]) -> dict[Place, int | None]:
        wanted = [TopicPartition(topic, partition) for topic, partition in places]
        request = [ConsumerGroupTopicPartitions(name, wanted)]
        asked = self._admin.list_consumer_group_offsets(request, request_timeout=_LOOK_SECONDS)
        try:
            found = _answer(asked[name]).topic_partitions
        except KafkaException as error:
            raise _unavailable(error) from None
        return {(p.topic, p.partition): p.offset if p.offset >= 0 else None for p in found}

    def partitions(self, topic: str) -> int:
        try:
            found = self._admin.list_topics(topic, timeout=_LOOK_SECONDS).topics[topic]
        except KafkaException as error:
            raise _unavailable(error) from None
        return len(found.partitions)

    def _told(self, error: KafkaError) -> None:
        self._troubles.heard(error.code())


def _answer(asked: "Future[Any]") -> Any:
    return asked.result(_LOOK_SECONDS + _LATE_SECONDS)


def _unavailable(error: KafkaException) -> KafkaUnavailable:
    return KafkaUnavailable(name_of(error.args[0].code()))


_ASK_SECONDS = 1.0
_PAUSE_SECONDS = 0.1
_HEARTBEATS = 2.5
_ANSWER_SECONDS = 0.05
_LEAVE_SECONDS, _LEFT_SECONDS = 5.0, 20.0
_NOT_LEFT = "the consumer group has not let this copy go"
_REFUSED = {
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError._FATAL,
}
_STATIC = "group.instance.id"

log = logging.getLogger(__name__)


class NativeGroupMember(GroupMember):
    """Join a group for one topic, and tell `rebalance` what is given and taken, while polled.

    A member reads no record itself: its partitions are paused, and records come the columnar way.
    It is there for callbacks, for positions that are stable, and for the membership that a
    transaction names.
    """

    def __init__(
        self, settings: Settings, troubles: LoginTroubles, topic: str, rebalance: Rebalance
    ) -> None:
        self._group, self._topic, self._troubles = settings["group.id"], topic, troubles
        self._rebalance = rebalance
        self._heartbeat_seconds = settings["heartbeat.interval.ms"] / 1000
        self._session_seconds: float = settings["session.timeout.ms"] / 1000
        self._polled_at = time.monotonic()
        own: Settings = {**settings, "log_level": _HIDDEN, "error_cb": self._told}
        self._consumer = Consumer(own)
        self._ask = partial(Consumer, {one: own[one] for one in own if one != _STATIC})
        self._asking: Consumer | None = None
        self._troubled_by = set[str]()
        self._epochs: dict[int, int | None] = {}
        self._consumer.subscribe(
            [topic], on_assign=self._given, on_revoke=self._taken, on_lost=self._lost
        )

    def poll(self, seconds: float = 0.0) -> None:
        message = self._consumer.poll(seconds)
        self._polled_at = time.monotonic()
        error = None if message is None else message.error()
        if error is None:
            return
        if error.code() == KafkaError._MAX_POLL_EXCEEDED:
            self._rebalance.lost()
        elif error.code() in _REFUSED or error.fatal():
            raise KafkaUnavailable(
                f"consumer group {self._group} cannot be joined for topic {self._topic} "
                f"({name_of(error.code())}). Grant this user Read on the group and on the topic."
            )
        else:
            self._note(name_of(error.code()))

    @property
    def stood_still(self) -> bool:
        return time.monotonic() - self._polled_at > self._session_seconds

    def listen(self) -> None:
        until = time.monotonic() + _HEARTBEATS * self._heartbeat_seconds
        while time.monotonic() < until:
            self.poll(_PAUSE_SECONDS)

    def metadata(self) -> GroupMetadata:
        return GroupMetadata.read(self._consumer.consumer_group_metadata())

    def committed(
        self, partitions: Sequence[int], seconds: float, meanwhile: Callable[[], None]
    ) -> dict[int, int | None]:
        """Ask by a client that has not joined.

        On the connection of the member, the answer may wait until every other member has joined
        again: also those of this process, which nobody polls meanwhile.
        """
        asking = self._asking = self._asking or self._ask()
        wanted = [TopicPartition(self._topic, partition) for partition in partitions]
        deadline = time.monotonic() + seconds
        while True:
            try:
                found = asking.committed(wanted, timeout=_ASK_SECONDS)
            except KafkaException as error:
                reason = error.args[0]
            else:
                reason = next((one.error for one in found if one.error), None)
                if reason is None:
                    self._epochs = {one.partition: one.leader_epoch for one in found}
                    return {p.partition: p.offset if p.offset >= 0 else None for p in found}
            if time.monotonic() > deadline:
                raise KafkaUnavailable(
                    f"consumer group {self._group}: its positions in topic {self._topic} cannot be "
                    f"read for {seconds:.0f} s ({reason.name()}). Is a transaction of a copy "
                    "that died still open? kafka-transactions.sh find-hanging names it"
                )
            meanwhile()
            time.sleep(_PAUSE_SECONDS)

    def committed_epoch(self, partition: int) -> int | None:
        return self._epochs.get(partition)

    def close(self) -> None:
        """Leave; what the group still tells is served before.

        librdkafka waits for ever in `close` where a rebalance was told that nobody has served
        (issue 4884). Its heartbeats go on, and nobody else would get the partitions.
        """
        with ending_unless_back(_LEFT_SECONDS, _NOT_LEFT):
            self._consumer.unsubscribe()
            until = time.monotonic() + _LEAVE_SECONDS
            while True:
                self._consumer.poll(_ANSWER_SECONDS)
                if not self._consumer.assignment() or time.monotonic() > until:
                    break
            self._consumer.close()
            if self._asking is not None:
                self._asking.close()

    def _told(self, error: KafkaError) -> None:
        self._troubles.heard(error.code())

    def _note(self, trouble: str) -> None:
        """Pass an error on, and say it the first time: librdkafka goes on trying."""
        self._rebalance.troubled(trouble)
        if trouble not in self._troubled_by:
            self._troubled_by.add(trouble)
            log.warning(
                "consumer group %s, topic %s: %s. Trying again.", self._group, self._topic, trouble
            )

    def _given(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Take partitions, and let nothing come of them here."""
        for partition in partitions:
            partition.offset = OFFSET_END
        self._troubled_by.clear()
        consumer.incremental_assign(partitions)
        consumer.pause(partitions)
        self._rebalance.given([one.partition for one in partitions], self.metadata().member)

    def _taken(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._rebalance.taken([one.partition for one in partitions])
        consumer.incremental_unassign(partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._rebalance.lost()
        consumer.incremental_unassign(partitions)

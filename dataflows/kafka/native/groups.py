"""Look at consumer groups without being a member of one."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Group, Groups, GroupState, Member, Place
from fugu.dataflows.kafka.native.library import name_of
from fugu.dataflows.kafka.native.login_troubles import LoginTroubles
from fugu.dataflows.kafka.native.settings import Settings

_ANSWER_SECONDS = 5.0
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
        asked = self._admin.describe_consumer_groups([name], request_timeout=_ANSWER_SECONDS)
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
        asked = self._admin.list_consumer_group_offsets(request, request_timeout=_ANSWER_SECONDS)
        try:
            found = _answer(asked[name]).topic_partitions
        except KafkaException as error:
            raise _unavailable(error) from None
        return {(p.topic, p.partition): p.offset if p.offset >= 0 else None for p in found}

    def partitions(self, topic: str) -> int:
        try:
            found = self._admin.list_topics(topic, timeout=_ANSWER_SECONDS).topics[topic]
        except KafkaException as error:
            raise _unavailable(error) from None
        return len(found.partitions)

    def _told(self, error: KafkaError) -> None:
        self._troubles.heard(error.code())


def _answer(asked: "Future[Any]") -> Any:
    return asked.result(_ANSWER_SECONDS + _LATE_SECONDS)


def _unavailable(error: KafkaException) -> KafkaUnavailable:
    return KafkaUnavailable(name_of(error.args[0].code()))

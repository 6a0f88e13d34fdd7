"""Talk to Kafka through librdkafka, called from compiled code: the fast client."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from confluent_kafka import __version__ as library_version

from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.kafka.client import CopyClient, Rebalance, Rights, Topic, identity_of
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.failures import NotUnpacked
from fugu.dataflows.kafka.kafka_python import KafkaPythonClient
from fugu.dataflows.kafka.native.consumer import NativeReader
from fugu.dataflows.kafka.native.copy_writer import NativeCopyWriter
from fugu.dataflows.kafka.native.group_member import NativeGroupMember, NativeGroups
from fugu.dataflows.kafka.native.library import LoginTroubles, version
from fugu.dataflows.kafka.native.settings import (
    MEMBER,
    READING,
    UNCOMMITTED,
    WRITING,
    Settings,
    settings_of,
    writing_settings_of,
)
from fugu.dataflows.kafka.native.writer import (
    NativeTransactionalWriter,
    NativeWriter,
    refused_transactions,
)


class NativeClient(CopyClient):
    """Talk to Kafka through the librdkafka that confluent-kafka carries.

    kafka-python looks at topics, and says why Kafka does not let us in.
    """

    def __init__(self, connection: Connection, generation: int = 0) -> None:
        self.name = f"librdkafka {version()} (confluent-kafka {library_version})"
        self._settings = settings_of(connection)
        self._identity = connection.client_id  # copies know each other by it, whatever is chosen
        self._beside = writing_settings_of(connection)
        self._troubles = LoginTroubles(connection.bootstrap)
        self._administrator = KafkaPythonClient(connection, generation)
        self._transactions = connection.transactions
        self._because = connection.because or "kafka.transactions is false"
        self._largest_batch = int(WRITING["batch.size"])

    def topic(self, name: str) -> Topic | None:
        """Describe a topic; batches of writers to come are no larger than it takes."""
        topic = self._administrator.topic(name)
        if topic is not None and topic.settings is not None:
            takes = int(topic.settings.get("max.message.bytes", self._largest_batch))
            self._largest_batch = min(self._largest_batch, takes)
        return topic

    def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        return self._administrator.identities(names)

    def rights(self, topic: str) -> Rights | None:
        return self._administrator.rights(topic)

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        self._administrator.create_topic(name, partitions, settings)

    def add_partitions(self, name: str, partitions: int) -> None:
        self._administrator.add_partitions(name, partitions)

    def reader(self, topic: str, *, headers: bool = False, committed: bool = True) -> NativeReader:
        settings = {**self._settings, **READING, **({} if committed else UNCOMMITTED)}
        packed_at = partial(self._packed_at, topic, committed)
        return NativeReader(topic, settings, self._troubles, packed_at, headers=headers)

    def _packed_at(
        self, topic: str, committed: bool, partition: int, offset: int
    ) -> NotUnpacked | int:
        """Look at a batch with kafka-python; librdkafka does not tell where it ends."""
        look = partial(self._administrator.packed_at, topic, partition, offset)
        found = look(committed=committed)
        if found is not None:
            return found
        aborted = look(committed=False)
        return offset if aborted is None else aborted.offsets.stop

    def delete_keys(self, topic: str, partition: int, keys: Sequence[bytes]) -> None:
        self._administrator.delete_keys(topic, partition, keys)

    def writer(self, owner: str | None = None) -> NativeWriter:
        troubles, aside = self._troubles, self._administrator.writer
        if owner is None or self.without_transactions(owner):
            return NativeWriter(self._writing, troubles, aside)

        def own() -> NativeTransactionalWriter:
            return NativeTransactionalWriter(self._writing, troubles, identity_of(owner), aside)

        return NativeWriter(self._writing, troubles, aside, own)

    def without_transactions(self, pipeline: str) -> str:
        if self._transactions == "auto":
            self._because = refused_transactions(self._writing, pipeline)
            self._transactions = not self._because
        return "" if self._transactions else self._because

    def end_transaction_of(self, owner: str) -> None:
        troubles, aside = self._troubles, self._administrator.writer
        with suppress(DeliveryFailed):
            NativeTransactionalWriter(self._writing, troubles, identity_of(owner), aside).close()

    def member(self, group: str, topic: str, rebalance: Rebalance) -> NativeGroupMember:
        known_by: Settings = {"group.id": group, "client.id": self._identity}
        settings = {**self._settings, **MEMBER, **known_by}
        return NativeGroupMember(settings, self._troubles, topic, rebalance)

    def groups(self) -> NativeGroups:
        return NativeGroups(self._settings, self._troubles, self._identity)

    def copy_writer(self, identity: str, milliseconds: int) -> NativeCopyWriter:
        return NativeCopyWriter(self._writing, self._troubles, identity, milliseconds)

    @property
    def _writing(self) -> Settings:
        return {**self._settings, **self._beside, "batch.size": self._largest_batch}

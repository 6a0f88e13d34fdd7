"""Talk to Kafka through the public calls of kafka-python, which is always installed."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, TypeVar

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import __version__ as library_version
from kafka.admin import ConfigFilterType, ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import (
    AuthorizationError,
    InvalidPartitionsError,
    KafkaError,
    NoError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    for_code,
)

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Client, Reader, Rights, Topic, Writer, identity_of
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.failures import SILENCE_SECONDS, NotUnpacked, not_written
from fugu.dataflows.kafka.kafka_python_reach import reach, sent_elsewhere
from fugu.dataflows.kafka.kafka_python_reader import KafkaPythonReader
from fugu.dataflows.kafka.kafka_python_refusals import right_missing
from fugu.dataflows.kafka.kafka_python_rights import rights_of
from fugu.dataflows.kafka.kafka_python_settings import settings_of
from fugu.dataflows.kafka.kafka_python_writer import KafkaPythonWriter

Made = TypeVar("Made")
_SHOWN_SECONDS, _SHOWN_PAUSE_SECONDS = 30, 0.05
"""A broker may answer that it has added partitions before it shows them."""
_NEW_SECONDS = 3.0
"""A broker may tell that a topic is there before it tells its settings."""
_SOON_MS = 3_000
_NEVER_MS = 24 * 3600 * 1000
"""The producer must not give up a request by itself: it would go on with the next one, and leave a
gap in the partition. `KafkaPythonWriter.flush` gives up, and the process ends with it."""


class KafkaPythonClient(Client):
    """Talk to Kafka through kafka-python."""

    name = f"kafka-python {library_version}"

    def __init__(self, connection: Connection, generation: int = 0) -> None:
        self._generation = generation
        self._connection = connection
        self._settings = settings_of(connection)
        self._admin_client: KafkaAdminClient | None = None
        self._looking: KafkaAdminClient | None = None
        self._created: set[str] = set()

    def without_transactions(self, pipeline: str) -> str:
        return self._connection.because or "kafka-python is the client, and takes none"

    def topic(self, name: str) -> Topic | None:
        if self._connection.embedded:
            return self._embedded_topic(name)
        deadline = time.monotonic() + _SHOWN_SECONDS
        while (found := self._described(name)) is None and name in self._created:
            # It was created, and the broker that was asked has not heard of it yet.
            if time.monotonic() > deadline:
                break
            time.sleep(_SHOWN_PAUSE_SECONDS)
        return found

    def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        """Ask once for all, on a connection of its own: a broker that does not answer is left soon
        for another one."""
        if self._connection.embedded:
            return super().identities(names)
        if self._looking is None:
            self._looking = self._reach(KafkaAdminClient, request_timeout_ms=_SOON_MS)
        try:
            described = self._looking.describe_topics([*names])
            return {one["name"]: self._identity(one) for one in described}
        except AuthorizationError as error:
            raise right_missing(", ".join(names), type(error)) from None
        except KafkaError as error:
            raise self._unavailable(error) from None

    def _identity(self, described: Mapping[str, Any]) -> str | None:
        """Return which topic the broker describes, if there is one."""
        refused = for_code(described["error_code"])
        if refused is UnknownTopicOrPartitionError:
            return None
        if refused is not NoError:
            raise refused()
        return str(described["topic_id"] or f"generation-{self._generation}")

    def _described(self, name: str) -> Topic | None:
        try:
            described = self._admin().describe_topics([name])[0]
            identity = self._identity(described)
            if identity is None:
                return None
            configs = self._configs(name)
        except AuthorizationError as error:
            raise right_missing(name, type(error)) from None
        except KafkaError as error:
            raise self._unavailable(error) from None
        if not configs:
            raise right_missing(name, TopicAuthorizationFailedError)
        settings = {key: str(entry["value"]) for key, entry in configs.items()}
        partitions = described["partitions"]
        replicas = min(len(one["replica_nodes"]) for one in partitions)
        return Topic(name, identity, len(partitions), settings, replicas)

    def _configs(self, name: str) -> Mapping[str, Any]:
        """Return the settings of a topic that is there; none where Kafka does not tell them.

        That is for want of a right, or for a moment because another process has just created the
        topic: kafka-python does not tell which, so it is asked again for a while.
        """
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        deadline = time.monotonic() + _NEW_SECONDS
        while True:
            told = self._admin().describe_configs([resource], config_filter=ConfigFilterType.ALL)
            configs: Mapping[str, Any] = told["topic"][name]
            if configs or time.monotonic() > deadline:
                return configs
            time.sleep(_SHOWN_PAUSE_SECONDS)

    def rights(self, topic: str) -> Rights | None:
        return None if self._connection.embedded else rights_of(self._admin(), topic)

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        if self._connection.embedded:
            return
        new = NewTopic(name, partitions, -1, topic_configs=dict(settings))
        try:
            self._admin().create_topics([new])
            self._admin().wait_for_topics([name])
        except TopicAlreadyExistsError:
            pass
        except AuthorizationError as error:
            raise right_missing(name, type(error)) from None
        except KafkaError as error:
            raise self._unavailable(error) from None
        self._created.add(name)

    def add_partitions(self, name: str, partitions: int) -> None:
        try:
            self._admin().create_partitions({name: partitions})
        except InvalidPartitionsError:
            pass
        except AuthorizationError as error:
            raise right_missing(name, type(error)) from None
        except KafkaError as error:
            raise self._unavailable(error) from None
        self._wait_for_partitions(name, partitions)

    def _wait_for_partitions(self, name: str, partitions: int) -> None:
        """Return once the broker shows the partitions that it was told to add."""
        deadline = time.monotonic() + _SHOWN_SECONDS
        while (topic := self.topic(name)) is None or topic.partitions < partitions:
            if time.monotonic() > deadline:
                raise KafkaUnavailable(
                    f"topic {name}: the broker does not show the partitions that were added, "
                    f"after {_SHOWN_SECONDS} s. Run this once more."
                )
            time.sleep(_SHOWN_PAUSE_SECONDS)

    def reader(self, topic: str, *, headers: bool = False, committed: bool = True) -> Reader:
        return self._reader(topic, committed, self._connection.max_unpacked_bytes)

    def _reader(self, topic: str, committed: bool, most: int) -> KafkaPythonReader:
        consumer = self._reach(
            KafkaConsumer,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed" if committed else "read_uncommitted",
            allow_auto_create_topics=self._connection.embedded,
            fetch_max_wait_ms=100,
        )
        return KafkaPythonReader(topic, consumer, most)

    def packed_at(
        self, topic: str, partition: int, offset: int, *, committed: bool
    ) -> NotUnpacked | None:
        """Return the compressed batch with this offset, not unpacked; None if there is none."""
        with closing(self._reader(topic, committed, 0)) as reader:
            try:
                for _ in reader.read_range(partition, offset, offset + 1):
                    break
            except NotUnpacked as found:
                if offset in found.offsets:
                    most = self._connection.max_unpacked_bytes
                    return NotUnpacked(topic, partition, found.offsets, found.timestamp, most)
        return None

    def delete_keys(self, topic: str, partition: int, keys: Sequence[bytes]) -> None:
        producer = self._reach(KafkaProducer, acks="all")
        try:
            sent = [producer.send(topic, None, key, partition=partition) for key in keys]
            for one in sent:
                one.get(timeout=SILENCE_SECONDS)
        except KafkaError as error:
            raise not_written(topic, partition, type(error).__name__) from None
        finally:
            producer.close(timeout=0)

    def writer(self, owner: str | None = None) -> Writer:
        return KafkaPythonWriter(
            self._reach(
                KafkaProducer,
                acks="all",
                linger_ms=5,
                batch_size=131_072,
                retry_backoff_ms=100,
                delivery_timeout_ms=_NEVER_MS,
            )
        )

    def end_transaction_of(self, owner: str) -> None:
        identity = identity_of(owner)
        producer = self._reach(KafkaProducer, transactional_id=identity)
        try:
            with suppress(KafkaError):
                producer.init_transactions()
        finally:
            producer.close(timeout=0)

    def _admin(self) -> KafkaAdminClient:
        if self._admin_client is None:
            self._admin_client = self._reach(KafkaAdminClient)
        return self._admin_client

    def _embedded_topic(self, name: str) -> Topic:
        """Return a topic of the embedded broker, which creates it when a producer asks for it."""

        def ask(bootstrap_timeout_ms: int, **settings: Any) -> int:
            producer = KafkaProducer(max_block_ms=bootstrap_timeout_ms, **settings)
            try:
                return len(producer.partitions_for(name))
            finally:
                producer.close(timeout=0)

        return Topic(name, f"generation-{self._generation}", self._reach(ask), None)

    def _reach(self, make: Callable[..., Made], **settings: Any) -> Made:
        return reach(make, self._connection, self._settings | settings)

    def _unavailable(self, error: KafkaError) -> KafkaUnavailable:
        return KafkaUnavailable(
            f"Kafka at {self._connection.bootstrap} cannot be used ({type(error).__name__}). "
            "Check its address (kafka.bootstrap in a pipeline file) and that the broker is running."
            + sent_elsewhere(self._admin_client)
        )

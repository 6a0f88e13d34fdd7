"""Talk to Kafka through the public calls of kafka-python, which is always installed."""

import gc
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, TypeVar

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka import __version__ as library_version
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import (
    AuthorizationError,
    InvalidPartitionsError,
    KafkaError,
    NoError,
    OffsetOutOfRangeError,
    SecurityDisabledError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedCodecError,
    for_code,
)

from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import (
    EVERYBODY,
    Bounds,
    Client,
    Reader,
    Rights,
    Topic,
    Writer,
    identity_of,
)
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.failures import (
    EACH_SECONDS,
    SILENCE_SECONDS,
    NotUnpacked,
    Silence,
    not_acknowledged,
    not_written,
    offset_gone,
    offsets_unreadable,
    scan,
    topic_unreadable,
)
from fugu.dataflows.kafka.kafka_python_refusals import reach, right_missing, sent_elsewhere
from fugu.dataflows.kafka.kafka_python_settings import settings_of
from fugu.dataflows.kafka.kafka_python_unpacking import Enough, StaysPacked, bounded, readable


def rights_of(admin: KafkaAdminClient, topic: str) -> Rights | None:
    """Return who may do what to a topic; None where Kafka does not tell."""
    every = ResourcePatternFilter(ResourceType.TOPIC, topic, ACLResourcePatternType.MATCH)
    asked = ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, every)
    try:
        rules, _ = admin.describe_acls(asked)
    except SecurityDisabledError:
        return Rights({"ALL": frozenset({EVERYBODY})})
    except KafkaError:
        return None
    allowed = defaultdict[str, set[str]](set)
    for rule in rules:
        if rule.permission_type is ACLPermissionType.ALLOW:
            allowed[rule.operation.name].add(rule.principal)
    return Rights({name: frozenset(found) for name, found in allowed.items()}, bool(rules))


class KafkaPythonReader(Reader):
    """Read through a consumer with manual assignment."""

    def __init__(self, topic: str, consumer: KafkaConsumer, most: int) -> None:
        """Unpack batches to so many bytes at most; with 0, only say which ones are packed."""
        self._topic = topic
        self._consumer = consumer
        self._allowance = bounded(consumer, most)

    def assign(self, offsets: Mapping[int, int], epochs: Mapping[int, int] | None = None) -> None:
        self._consumer.assign([TopicPartition(self._topic, p) for p in offsets])
        for partition, offset in offsets.items():
            self._consumer.seek(TopicPartition(self._topic, partition), offset)

    def pass_over(self, partition: int, offset: int) -> None:
        self._consumer.seek(TopicPartition(self._topic, partition), offset)

    def poll(self, max_records: int) -> list[Batch]:
        if self._allowance.left <= 0:
            gc.collect()  # kafka-python keeps the records of a large poll in circles of references
        self._allowance.renew()
        with suppress(Enough):  # the poll before had enough
            return self._poll(max_records)
        return self._poll(max_records)

    def _poll(self, max_records: int) -> list[Batch]:
        try:
            polled = self._consumer.poll(timeout_ms=0, max_records=max_records)
        except StaysPacked as error:
            raise self._not_unpacked(error) from None
        except OffsetOutOfRangeError as error:
            partition, offset = next(iter(error.args[0].items()))
            raise offset_gone(self._topic, partition.partition, offset) from None
        except AuthorizationError as error:
            raise right_missing(self._topic, type(error)) from None
        except UnsupportedCodecError as error:
            raise KafkaUnavailable(
                f"topic {self._topic} is compressed in a way that cannot be read here ({error}). "
                "Install what is missing:  pip install 'kafka-python[lz4,snappy,zstd]'"
            ) from None
        except KafkaError as error:
            raise topic_unreadable(self._topic, type(error).__name__) from None
        return [_batch(partition.partition, records) for partition, records in polled.items()]

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        try:
            return self._bounds(partitions)
        except KafkaError as error:
            raise offsets_unreadable(self._topic, type(error).__name__) from None

    def bounds_now(self, partitions: Sequence[int], seconds: float) -> dict[int, Bounds | str]:
        """Ask for all at once; one by one where Kafka does not say it of some."""
        until = time.monotonic() + seconds
        try:
            return {**self._bounds(partitions, EACH_SECONDS)}
        except KafkaError as error:
            if len(partitions) == 1:
                return {partitions[0]: type(error).__name__}
        told = dict[int, Bounds | str]()
        for partition in partitions:
            if time.monotonic() < until:
                told |= self.bounds_now([partition], EACH_SECONDS)
        return told

    def position(self, partition: int) -> int | None:
        try:
            position = self._consumer.position(TopicPartition(self._topic, partition), timeout_ms=0)
        except KafkaError:  # the next poll reports what is wrong
            return None
        return None if position is None else int(position)

    def _not_unpacked(self, found: StaysPacked) -> NotUnpacked:
        first = max(found.base, self.position(found.partition) or 0)
        offsets, most = range(first, found.last + 1), self._allowance.most
        return NotUnpacked(self._topic, found.partition, offsets, found.timestamp, most)

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        self.assign({partition: start})
        topic_partition = TopicPartition(self._topic, partition)

        def position() -> int:
            return self._consumer.position(topic_partition) or start

        return scan(self._topic, partition, end, self.poll, position)

    def _bounds(self, partitions: Sequence[int], seconds: float | None = None) -> dict[int, Bounds]:
        places = [TopicPartition(self._topic, partition) for partition in partitions]
        milliseconds = None if seconds is None else int(seconds * 1000)
        try:
            starts = self._consumer.beginning_offsets(places, milliseconds)
            ends = self._consumer.end_offsets(places, milliseconds)
        except KeyError:  # it looks for a partition that the broker did not know
            raise UnknownTopicOrPartitionError from None
        return {one.partition: Bounds(starts[one], ends[one]) for one in places}

    def close(self) -> None:
        self._consumer.close()


def _batch(partition: int, records: list[Any]) -> Batch:
    return Batch(
        partition,
        [record.offset for record in records],
        [record.timestamp for record in records],
        [record.key for record in records],
        [record.value for record in records],
        [readable(record.headers) for record in records],
    )


_UNACKNOWLEDGED_RECORDS = 20_000


class KafkaPythonWriter(Writer):
    """Write through an idempotent producer, without transactions; keep futures until checked."""

    def __init__(self, producer: KafkaProducer) -> None:
        self._producer = producer
        self._unchecked: list[Any] = []
        self._ends: dict[tuple[str, int], int] = {}

    def write(self, topic: str, outgoing: Outgoing) -> None:
        send, partition = self._producer.send, outgoing.partition
        try:
            for value, key, headers, timestamp in zip(
                outgoing.values, outgoing.keys, outgoing.headers, outgoing.timestamps, strict=True
            ):
                self._unchecked.append(send(topic, value, key, headers, partition, timestamp))
        except KafkaError as error:
            raise not_written(topic, partition, type(error).__name__) from None
        if len(self._unchecked) > _UNACKNOWLEDGED_RECORDS:
            self.flush()

    def flush(self) -> None:
        if not self._unchecked:
            return
        self._wait_for_acknowledgements()
        try:
            for future in self._unchecked:
                metadata = future.value if future.succeeded() else future.get(timeout=0)
                self._ends[metadata.topic, metadata.partition] = metadata.offset + 1
        except KafkaError as error:
            raise not_acknowledged(type(error).__name__) from None
        self._unchecked.clear()

    def _wait_for_acknowledgements(self) -> None:
        silence = Silence()
        while True:
            try:
                self._producer.flush(timeout=SILENCE_SECONDS)
                return
            except KafkaError:  # nothing came, or the batch waited for was split in two
                silence.goes_on()

    def acknowledged_end(self, topic: str, partition: int) -> int | None:
        return self._ends.get((topic, partition))

    def close(self) -> None:
        self._producer.close(timeout=0)


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

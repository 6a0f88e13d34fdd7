"""Run librdkafka's mock cluster: brokers in this process, in memory."""

from types import TracebackType
from typing import Self

from fugu.dataflows.kafka.native.handle import producer_of
from fugu.dataflows.kafka.native.library import library, name_of


class MockCluster:
    """Run one broker while the context is open."""

    def __enter__(self) -> Self:
        self._owner = producer_of({})
        self._cluster = library().rd_kafka_mock_cluster_new(self._owner, 1)
        if not self._cluster:
            library().rd_kafka_destroy(self._owner)
            raise OSError("librdkafka did not start its mock cluster")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        library().rd_kafka_mock_cluster_destroy(self._cluster)
        library().rd_kafka_destroy(self._owner)

    @property
    def bootstrap(self) -> str:
        """Return the address of the broker."""
        return str(library().rd_kafka_mock_cluster_bootstraps(self._cluster).decode())

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic."""
        calls = library()
        if error := calls.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, 1):
            raise OSError(f"the mock cluster did not create a topic ({name_of(error)})")

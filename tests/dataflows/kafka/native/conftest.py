"""librdkafka's mock cluster: one for topics that tests fill, one of its own for faults to order."""

from collections.abc import Iterator

import pytest

from fugu.dataflows.kafka.native.self_test import MockCluster
from tests.dataflows.kafka.native.cluster import PARTITIONS, TOPIC, FaultyCluster
from tests.dataflows.kafka.native.filled_topics import Topics


@pytest.fixture(scope="package")
def topics() -> Iterator[Topics]:
    with MockCluster() as cluster:
        yield Topics(cluster)


@pytest.fixture
def cluster() -> Iterator[FaultyCluster]:
    with FaultyCluster() as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        yield cluster

"""Mock clusters: one for all tests that only send and read, one for each that orders faults."""

from collections.abc import Iterator

import pytest

from fugu.dataflows.kafka.native.mock_cluster import MockCluster
from tests.dataflows.kafka.native.cluster import PARTITIONS, TOPIC, FaultyCluster
from tests.dataflows.kafka.native.clusters import Topics


@pytest.fixture(scope="package")
def topics() -> Iterator[Topics]:
    with MockCluster() as cluster:
        yield Topics(cluster)


@pytest.fixture
def cluster() -> Iterator[FaultyCluster]:
    with FaultyCluster() as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        yield cluster

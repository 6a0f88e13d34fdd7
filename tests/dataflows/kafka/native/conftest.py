"""A mock cluster of its own for each test that wants one."""

from collections.abc import Iterator

import pytest

from tests.dataflows.kafka.native.cluster import PARTITIONS, TOPIC, FaultyCluster


@pytest.fixture
def cluster() -> Iterator[FaultyCluster]:
    with FaultyCluster() as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        yield cluster

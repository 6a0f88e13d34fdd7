"""One mock cluster for all tests of librdkafka's functions."""

from collections.abc import Iterator

import pytest

from fugu.dataflows.kafka.native.mock_cluster import MockCluster
from tests.dataflows.kafka.native.clusters import Topics


@pytest.fixture(scope="package")
def topics() -> Iterator[Topics]:
    with MockCluster() as cluster:
        yield Topics(cluster)

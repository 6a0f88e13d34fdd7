"""One real Kafka per test run, and fresh topics on it."""

from collections.abc import Iterator

import pytest

from tests.kafka.broker import Broker
from tests.kafka.topics import TopicFactory


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def bootstrap(broker: Broker) -> str:
    return broker.bootstrap


@pytest.fixture(scope="session")
def topics(bootstrap: str) -> TopicFactory:
    return TopicFactory(bootstrap)

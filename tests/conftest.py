"""One real Kafka per test process, and fresh topics on it."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.kafka.broker import Broker
from tests.kafka.registry import Registry
from tests.kafka.secured import PASSWORD_VARIABLES, SecuredListeners
from tests.kafka.topics import TopicFactory

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "broker" in getattr(item, "fixturenames", ()):
            item.add_marker("kafka")


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    with Registry() as registry:
        yield registry


@pytest.fixture(scope="session")
def bootstrap(broker: Broker) -> str:
    return broker.bootstrap


@pytest.fixture(scope="session")
def secured(broker: Broker) -> Iterator[SecuredListeners]:
    with pytest.MonkeyPatch.context() as environment:
        for name, password in PASSWORD_VARIABLES.items():
            environment.setenv(name, password)
        yield broker.secured


@pytest.fixture(scope="session")
def topics(bootstrap: str) -> TopicFactory:
    return TopicFactory(bootstrap)

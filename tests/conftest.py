"""One real Kafka per test process, and fresh topics on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.kafka.broker import Broker
from tests.kafka.registry import Registry
from tests.kafka.secured import PASSWORD_VARIABLES, SecuredListeners
from tests.kafka.topics import TopicFactory

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


WITH_KAFKA = tuple(Path(__file__).parent / folder for folder in ("chaos", "faults", "kafka"))
"""The folders in which `make test` looks for tests with Kafka."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "broker" in getattr(item, "fixturenames", ()):
            item.add_marker("kafka")
            if not item.get_closest_marker("acceptance"):
                check_that_make_test_finds(item)


def check_that_make_test_finds(item: pytest.Item) -> None:
    if not any(item.path.is_relative_to(folder) for folder in WITH_KAFKA):
        folders = ", ".join(f"tests/{folder.name}" for folder in WITH_KAFKA)
        raise pytest.UsageError(f"{item.nodeid} uses Kafka: `make test` looks in {folders}")


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

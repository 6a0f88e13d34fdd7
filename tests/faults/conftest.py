"""Copies within the process of a test, whose group misses them soon."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fugu.dataflows.kafka.native.settings import MEMBER
from tests.faults.copies import House
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE, Document
from tests.kafka.topics import TopicFactory


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    monkeypatch.setitem(MEMBER, "heartbeat.interval.ms", 300)


@pytest.fixture
def make(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, in_process: None
) -> Iterator[Callable[..., House]]:
    """Make pipelines, by their number of partitions, sections and what `state` says."""
    made: list[House] = []

    def house(partitions: int, sections: Document | None = None, **state: Any) -> House:
        path = tmp_path / str(len(made))
        made.append(House(bootstrap, topics, path, partitions, sections, **state))
        return made[-1]

    yield house
    for one in made:
        one.copies.close()


@pytest.fixture
def house(make: Callable[..., House]) -> House:
    return make(1)

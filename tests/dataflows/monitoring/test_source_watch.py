"""Topics are watched: what stops a pipeline, and what is said where nobody can look."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pytest

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.monitoring.notices import Kind
from fugu.dataflows.monitoring.source_watch import TopicsWatch
from fugu.dataflows.state import same_topics
from fugu.dataflows.state.same_topics import SameTopics
from tests.dataflows.state.fingerprints import FINGERPRINT

SOURCE = FINGERPRINT.source_topic


@dataclass
class Topics:
    """Say which topics are there, unless the right to is gone; `other` is not that of before."""

    may: bool = True
    other: str = ""

    def topic(self, name: str) -> Topic:
        if not self.may:
            raise KafkaUnavailable(f"topic {name}: this user lacks a right")
        identity = "another" if name == self.other else FINGERPRINT.identities[name]
        return Topic(name, identity, 2, {})

    def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        return {name: self.topic(name).identity for name in names}


def watch_of(topics: Topics) -> TopicsWatch:
    client = cast(Client, topics)
    return TopicsWatch(client, SOURCE, [SameTopics(client, FINGERPRINT, seconds=0.0)])


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_topics, "_PATIENCE_SECONDS", 0.0)


def test_topics_that_cannot_be_looked_at_are_noticed_until_they_can() -> None:
    topics = Topics()
    watch = watch_of(topics)

    def said(seconds: float) -> list[str]:
        return [notice.text for notice in watch.notices(time.monotonic() + seconds)]

    watch.try_to_look()
    topics.may = False
    watch.try_to_look()
    assert said(55) == []
    [text] = said(61)
    assert text.startswith("topics have not been looked at for 61 s")
    assert text.endswith("topic vitals.raw: this user lacks a right")
    [notice] = watch.notices(time.monotonic() + 61)
    assert (notice.kind, notice.still, notice.quiet) == (Kind.TOPICS_UNSEEN, False, False)
    topics.may = True
    watch.try_to_look()
    assert said(61) == []


def test_a_topic_that_is_another_one_stops_the_pipeline_even_if_it_comes_back() -> None:
    topics = Topics()
    watch = watch_of(topics)
    stopped = StopFlag()
    watch.end = stopped.request
    watch.try_to_look()
    assert not stopped.requested
    topics.other, watch.same[0]._looked_at = FINGERPRINT.sink_topic, float("-inf")
    watch.try_to_look()
    assert stopped.requested
    topics.other = ""
    watch.try_to_look()
    [notice] = watch.notices(time.monotonic())
    assert (notice.kind, notice.topic) == (Kind.TOPIC_REPLACED, FINGERPRINT.sink_topic)
    assert str(watch.refusal) == notice.text
    assert notice.text.startswith("nothing more is committed:\nsink_identity changed")


def test_a_topic_that_is_compacted_now_stops_the_pipeline() -> None:
    watch = watch_of(Topics())
    stopped = StopFlag()
    watch.end = stopped.request
    watch.misused = lambda topic: "is compacted" if topic.name == SOURCE else None
    watch.try_to_look()
    assert stopped.requested
    assert str(watch.refusal) == "is compacted"


def test_what_was_noticed_before_stays_while_nobody_can_look() -> None:
    topics = Topics(other=SOURCE)
    watch = watch_of(topics)
    watch.try_to_look()
    topics.other, topics.may = "", False
    watch.same = [SameTopics(watch.client, FINGERPRINT, seconds=0.0)]
    watch.try_to_look()
    assert [one.kind for one in watch.notices(time.monotonic() + 61)] == [
        Kind.TOPIC_REPLACED,
        Kind.TOPICS_UNSEEN,
    ]

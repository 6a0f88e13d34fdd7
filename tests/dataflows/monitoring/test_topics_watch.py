"""Whoever watches topics says so when that is not possible any more, and when it is again."""

import time
from dataclasses import dataclass
from typing import cast

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.monitoring.notices import Kind
from fugu.dataflows.monitoring.topics_watch import TopicsWatch


@dataclass
class Topics:
    """Say which topics are there, unless the right to is gone."""

    may: bool = True

    def topic(self, name: str) -> Topic:
        if not self.may:
            raise KafkaUnavailable(f"topic {name}: this user lacks a right")
        return Topic(name, "first", 2, {})


def test_topics_that_cannot_be_looked_at_are_noticed_until_they_can() -> None:
    topics = Topics()
    watch = TopicsWatch(cast(Client, topics), "raw", {"raw": "first"}, lambda _: None)

    def said(seconds: float) -> list[str]:
        return [notice.text for notice in watch.notices(time.monotonic() + seconds)]

    watch.try_to_look()
    topics.may = False
    watch.try_to_look()
    assert said(55) == []
    [text] = said(61)
    assert text.startswith("topics have not been looked at for 61 s")
    assert text.endswith("topic raw: this user lacks a right")
    [notice] = watch.notices(time.monotonic() + 61)
    assert (notice.kind, notice.still, notice.quiet) == (Kind.TOPICS_UNSEEN, False, False)
    topics.may = True
    watch.try_to_look()
    assert said(61) == []


def test_what_was_noticed_before_stays_while_nobody_can_look() -> None:
    topics = Topics()
    watch = TopicsWatch(cast(Client, topics), "raw", {"raw": "another"}, lambda _: None)
    watch.try_to_look()
    topics.may = False
    watch.try_to_look()
    assert [one.kind for one in watch.notices(time.monotonic() + 61)] == [
        Kind.TOPIC_REPLACED,
        Kind.TOPICS_UNSEEN,
    ]

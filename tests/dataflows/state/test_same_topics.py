"""A topic that is another one stops everything; a broker that has just begun stops nothing."""

from collections.abc import Sequence
from typing import cast

import pytest

from fugu.dataflows.base.errors import KafkaUnavailable, StartRefused
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.state import same_topics
from fugu.dataflows.state.same_topics import SameTopics
from tests.dataflows.state.fingerprints import FINGERPRINT

AWAY, EMPTY, KNOWN = "away", "empty", "known"


class Clock:
    """Goes on while somebody sleeps, and with every question that has no answer."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Broker:
    """Answers each question by the next of these words, and with the last one for ever."""

    def __init__(self, clock: Clock, *answers: str) -> None:
        self._clock, self._answers = clock, [*answers]

    def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer == AWAY:
            self._clock.now += 10.0
            raise KafkaUnavailable("nothing answers")
        known = FINGERPRINT.identities if answer == KNOWN else {}
        return {name: known.get(name) for name in names}


def same(monkeypatch: pytest.MonkeyPatch, *answers: str) -> SameTopics:
    clock = Clock()
    monkeypatch.setattr(same_topics, "time", clock)
    return SameTopics(cast(Client, Broker(clock, *answers)), FINGERPRINT)


@pytest.mark.parametrize("before", [[], [AWAY], [AWAY, AWAY, EMPTY, AWAY]])
def test_a_broker_that_does_not_know_its_topics_at_first_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, before: list[str]
) -> None:
    same(monkeypatch, *before, EMPTY, EMPTY, KNOWN).require()


def test_a_topic_that_stays_unknown_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StartRefused, match="is not there any more, so nothing more is committed"):
        same(monkeypatch, AWAY, EMPTY).require()


def test_a_lost_state_is_not_to_be_made_again_where_no_command_can() -> None:
    """`fugu state rebuild` refuses what is not released record by record."""
    client = cast(Client, _Anew())
    state = Topic("zones.state", "old", 2, None)
    with pytest.raises(StartRefused) as refused:
        SameTopics(client, FINGERPRINT, state).require()
    text = str(refused.value)
    assert text.startswith("topic zones.state (state.topic) was deleted and created again")
    assert "Where releases follow records one by one" in text
    assert "Aggregates and streams in ticks cannot be made again" in text


class _Anew:
    """A broker where the state topic alone is another one."""

    def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        return {name: FINGERPRINT.identities.get(name, "new") for name in names}

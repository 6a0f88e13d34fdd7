"""Read what a state topic belongs to while others begin it, and while they remove records."""

from collections.abc import Iterator
from typing import Any, cast

import orjson
import pytest

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.kafka.client import Bounds, Client, Reader, Topic
from fugu.dataflows.state import state_topic
from fugu.dataflows.state.sealing import Sealing
from fugu.dataflows.state.state_topic import FINGERPRINT as KEY
from fugu.dataflows.state.state_topic import StateTopic
from fugu.operators.randomness import Secret
from tests.dataflows.state.fingerprints import FINGERPRINT

TOPIC = Topic("zones.state", "topic-id", 2, None)
SECRET = Secret(bytes(range(32)))
WRITTEN = orjson.dumps({"topic": TOPIC.identity, "fingerprint": FINGERPRINT.model_dump()})


class Looks:
    """Shows what each look finds in the partitions: the last one for ever."""

    def __init__(self, *looks: list[int], secret: Secret = SECRET) -> None:
        self._looks, self._sealing = list(looks), Sealing(TOPIC.identity, secret)

    def reader(self, topic: str, **_: Any) -> Reader:
        ends = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        return cast("Reader", _Look(ends, self._sealing))


class _Look:
    def __init__(self, ends: list[int], sealing: Sealing) -> None:
        self._ends, self._sealing = ends, sealing

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        return {partition: Bounds(0, self._ends[partition]) for partition in partitions}

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        if end:
            sealed = self._sealing.sealed(partition, 0, KEY, WRITTEN)
            yield Batch(partition, [0], [1], [KEY], [sealed], [[]])

    def close(self) -> None:
        return


def topic(*looks: list[int], secret: Secret = SECRET) -> StateTopic:
    client = cast("Client", Looks(*looks, secret=secret))
    return StateTopic(client, TOPIC, "heart-zones", None, SECRET)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_topic, "_COMMITTED_SECONDS", 0.0)


def test_a_state_that_another_copy_begins_at_this_moment_is_waited_for() -> None:
    assert topic([0, 2], [2, 2]).stored() == FINGERPRINT


def test_a_partition_that_stays_without_what_it_belongs_to_is_refused() -> None:
    with pytest.raises(StartRefused, match="partitions belong to different states, or to none"):
        topic([0, 2]).stored()


def test_a_state_that_has_not_begun_belongs_to_nothing() -> None:
    assert topic([0, 0]).stored() is None


def test_a_state_that_another_secret_has_sealed_is_refused_and_never_begun_anew() -> None:
    with pytest.raises(StartRefused, match="not sealed by the secret of this pipeline"):
        topic([2, 2], secret=Secret(bytes(31) + b"1")).stored()

"""Killed in the middle of windows, temporal perturbation loses, repeats and re-times nothing."""

import time
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from kafka import KafkaConsumer

from fugu.dataflows.state.directory import StateDirectory
from tests.faults.feeding import document_with_topics
from tests.faults.killing import killed_inside
from tests.faults.outcomes import Topic, published
from tests.kafka.pipelines import (
    Document,
    RunningPipeline,
    refusal,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

PARTITIONS, WINDOW, C0 = 2, 4, 2
SECOND = 1_000
BEGIN = NOW // SECOND * SECOND
EVERY_RECORD_IS_A_TICK = "sequence"
CANARY = "canary"
FIELDS = ("tick", "epoch", "phase", "empty", "value")
SHARES_AT_KILLS = (0.2, 0.7)


INTERVAL = {"width": "1s", "grace": "300ms", "stream_time": {"distinct_keys": 1}}


@dataclass(frozen=True)
class Mode:
    """Say how ticks are made, of how many readings, and how many releases that makes."""

    ticks: Any
    users: int
    steps: int

    @cached_property
    def readings(self) -> list[Placed]:
        """Everybody has one in the first step, and in nine of ten others; 1 in 50 is late."""
        random = Random(self.users)
        return [
            Placed(user % PARTITIONS, Record(b"user-%d" % user, reading(step, user, late)))
            for step in range(self.steps)
            for user in range(self.users)
            if step == 0 or random.random() < 0.9
            for late in [step > 2 and random.random() < 0.02]
        ]

    @property
    def releases(self) -> int:
        """In steady state, before anything is finished."""
        if self.ticks == EVERY_RECORD_IS_A_TICK:
            counts = Counter(placed.record.key for placed in self.readings)
            return sum(max(0, count - WINDOW + 1) for count in counts.values())
        return self.users * (self.steps - 1 - WINDOW)

    def lost(self, held: int) -> int:
        """Values of a stream that are never released: those of the first window, the one that
        begins an epoch of event time, and all of an epoch without a whole window."""
        if held < WINDOW - 1:
            return held
        return C0 - 1 if self.ticks == EVERY_RECORD_IS_A_TICK else C0


MODES = {
    "sequence": Mode(EVERY_RECORD_IS_A_TICK, users=10_000, steps=5),
    "interval": Mode(INTERVAL, users=1_500, steps=14),
}


def reading(step: int, user: int, late: bool) -> bytes:
    """A value that nothing else equals."""
    at = BEGIN + (step - 2 * late) * SECOND + user * 37 % 900
    return orjson.dumps({"bpm": f"{CANARY}-{step}-{user}", "at": at})


@pytest.mark.parametrize("mode", first_in_test(MODES.values(), 1), ids=MODES)
def test_kills_in_the_middle_of_windows_leave_no_trace(
    mode: Mode, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("private", partitions=PARTITIONS)
    produce(bootstrap, source, mode.readings)
    disturbed, undisturbed = (
        document_with_topics(bootstrap, topics, source, partitions=PARTITIONS) for _ in range(2)
    )
    for document in (disturbed, undisturbed):
        document["source"] |= {"value": "bpm", "timestamp": {"field": "at", "format": "epoch-ms"}}
        kind = {"kind": "threshold_perturbation", "window": WINDOW, "threshold": C0}
        document["operator"] = {**kind, "ticks": mode.ticks}
        document["state"]["every"] = "200ms"
    here = write_pipeline(tmp_path / "disturbed", disturbed)
    there = write_pipeline(tmp_path / "undisturbed", undisturbed)

    with running(there) as undisturbed_run:
        for share in SHARES_AT_KILLS:
            with running(here) as run:
                wait_for(bootstrap, run, disturbed, int(share * mode.releases))
                run.kill()
        for seconds in REPLAY_SECONDS:
            with running(here) as run:
                stop_after(bootstrap, run, disturbed, mode.releases, seconds)
            if stopped_gracefully(here):
                break
        stop_after(bootstrap, undisturbed_run, undisturbed, mode.releases)

    with running(there, "--finish") as undisturbed_run:
        killed_while_finishing(here)
        assert "Run it with --finish once more" in refusal(here)
        with running(here, "--finish") as run:
            assert run.exit_code() == 0, run.stderr
        assert undisturbed_run.exit_code() == 0, undisturbed_run.stderr
    sanitized, dead_letters = published(bootstrap, disturbed)
    assert (sanitized, dead_letters) == published(bootstrap, undisturbed)
    check_every_stream(mode, sanitized, dead_letters)


def wait_for(bootstrap: str, run: RunningPipeline, document: Document, releases: int) -> None:
    """Until so much is published, by this run and those before it."""
    sink = document["sink"]["topic"]
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        run.wait_until(lambda: sum(end_offsets(consumer, sink)) >= releases)
    assert CANARY not in run.stderr


REPLAY_SECONDS = 3, 9, 27
"""The waits for what was published before the start: nothing says when it has come again."""


def stopped_gracefully(pipeline: Path) -> bool:
    """A stop before the end of a replay is no graceful one, and `--finish` refuses after it."""
    return StateDirectory(pipeline.parent / "state" / "shard-0000").stopped_at() is not None


def stop_after(
    bootstrap: str, run: RunningPipeline, document: Document, releases: int, seconds: float = 0.0
) -> None:
    """Stop it some time after so much is published, by this run or those before it."""
    wait_for(bootstrap, run, document, releases)
    time.sleep(seconds)
    assert run.stop() == 0, run.stderr
    assert CANARY not in run.stderr


def killed_while_finishing(pipeline: Path) -> None:
    """Publish what was held back, and end before a state says so."""
    killed_inside("published, no snapshot", 1, "run", pipeline, "--finish")


def check_every_stream(mode: Mode, sanitized: Topic, dead_letters: Topic) -> None:
    """Ticks ascend one by one, and every value but those of the first window leaves once."""
    streams = defaultdict(list)
    for partition in sanitized.values():
        assert len({record.headers[0] for record in partition}) == len(partition)
        for record in partition:
            assert [name for name, _ in record.headers] == ["fugu-release", "fugu-guarantee"]
            streams[record.key].append(orjson.loads(record.value or b""))
    refused = [record.value or b"" for partition in dead_letters.values() for record in partition]
    assert not any(CANARY.encode() in letter for letter in refused)
    values = 0
    held = Counter(placed.record.key for placed in mode.readings)
    for key, releases in streams.items():
        assert {tuple(release) for release in releases} == {FIELDS}
        ticks = [release["tick"] for release in releases]
        assert ticks == list(range(ticks[0], ticks[0] + len(ticks)))
        found = [release["value"] for release in releases if not release["empty"]]
        assert len(set(found)) == len(found)
        values += len(found)
        if mode.ticks == EVERY_RECORD_IS_A_TICK and held[key] >= WINDOW - 1:
            assert len(found) == held[key] - (C0 - 1)
    lost = sum(mode.lost(count) for count in held.values())
    assert values >= len(mode.readings) - len(refused) - lost

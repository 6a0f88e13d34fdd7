"""A replay never publishes twice, and what it cannot explain stops it before it publishes."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from kafka import KafkaAdminClient, TopicPartition

from fugu.dataflows.base.batches import Outgoing, Sanitized
from fugu.dataflows.base.errors import KafkaUnavailable, ReleaseMismatch, StartRefused
from fugu.dataflows.kafka import sink as sinks
from fugu.dataflows.kafka.client import Writer
from fugu.dataflows.kafka.connection import Library
from fugu.dataflows.kafka.sink import KafkaSink, KafkaSinkPart
from fugu.dataflows.publishing.envelope import Publisher
from fugu.operators.randomness import DrawScope, Secret
from tests.dataflows.stages.columns import batch_of, codec, lift, new_table, publisher
from tests.kafka.clients import BOTH, connected
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory
from tests.kafka.transactions import transactional_producer

PARTITION = 2


def sanitized(records: int) -> Sanitized:
    values = [b'{"zone": "light"}', b'{"zone": "rest"}']
    messages = [(b"user-%d" % (i % 3), values[i % 2]) for i in range(records)]
    return lift()(codec().decode(batch_of(messages)), new_table())


def releases(first: int, end: int) -> Outgoing:
    """The releases of source offsets first to end, as every run of the pipeline gives them."""
    return cut(publisher().releases(sanitized(end)), first, end)


def cut(outgoing: Outgoing, first: int, end: int) -> Outgoing:
    return Outgoing(
        outgoing.partition,
        outgoing.keys[first:end],
        outgoing.values[first:end],
        outgoing.headers[first:end],
        outgoing.timestamps[first:end],
        outgoing.positions[first:end],
    )


class Sink:
    """One output partition of a topic, rebuilt as after a crash as often as a test likes."""

    def __init__(self, bootstrap: str, topic: str, library: Library) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self._client = connected(bootstrap, library)
        self._writers: list[Writer] = []

    def part(
        self,
        resume: int | None = None,
        by: Publisher | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
        resumed: int = 0,
    ) -> KafkaSinkPart:
        writer = self._client.writer()
        self._writers.append(writer)
        names = (by or publisher()).release_ids
        begin = {0: 0, 1: 0, 2: 0}
        sink = KafkaSink(
            self._client,
            writer,
            self.topic,
            begin,
            names,
            is_stopped=is_stopped,
            resumed={PARTITION: resumed},
        )
        return sink.build_part("sink", f"{PARTITION:06d}", resume)

    def ticks(self) -> KafkaSinkPart:
        """One whose releases belong to ticks, after a crash before the first snapshot."""
        writer = self._client.writer()
        self._writers.append(writer)
        begin = {0: 0, 1: 0, 2: 0}
        ticks = KafkaSink(self._client, writer, self.topic, begin, None)
        return ticks.build_part("sink", f"{PARTITION:06d}", None)

    def names(self) -> list[bytes]:
        """The release ids in the partition, in order."""
        records = read_topic(self.bootstrap, self.topic)[PARTITION]
        return [dict(record.headers)["fugu-release"] for record in records]

    def close(self) -> None:
        for writer in self._writers:
            with suppress(Exception):
                writer.close()


@pytest.fixture(params=BOTH)
def sink(bootstrap: str, topics: TopicFactory, request: pytest.FixtureRequest) -> Iterator[Sink]:
    sink = Sink(bootstrap, topics("sink", partitions=3), request.param)
    yield sink
    sink.close()


def names(first: int, end: int) -> list[bytes]:
    return list(publisher().release_ids(PARTITION, range(first, end)))


def test_a_snapshot_is_the_end_of_what_was_acknowledged(sink: Sink) -> None:
    part = sink.part()
    assert part.snapshot() == 0
    part.write_batch([releases(0, 3), releases(3, 5)])
    assert part.snapshot() == 5
    assert sink.names() == names(0, 5)


def test_records_are_published_byte_for_byte(sink: Sink) -> None:
    part = sink.part()
    outgoing = releases(0, 4)
    part.write_batch([outgoing])
    part.snapshot()
    assert read_topic(sink.bootstrap, sink.topic) == {
        0: [],
        1: [],
        PARTITION: [
            Record(outgoing.keys[i], outgoing.values[i], tuple(outgoing.headers[i]), 1000 + i)
            for i in range(4)
        ],
    }


@pytest.mark.parametrize("resume", [None, 0, 3])
def test_a_replay_publishes_only_what_is_missing(sink: Sink, resume: int | None) -> None:
    before = sink.part()
    before.write_batch([releases(0, 6)])
    before.snapshot()
    after = sink.part(resume)
    after.write_batch([releases(resume or 0, 4), releases(4, 8)])
    assert after.snapshot() == 8
    assert sink.names() == names(0, 8)


def test_a_replay_that_is_cut_short_resumes_before_what_it_has_not_reached(sink: Sink) -> None:
    sink.part().write_batch([releases(0, 6)])
    _settle(sink, 6)
    half = sink.part(0)
    half.write_batch([releases(0, 2)])
    assert half.snapshot() == 2
    rest = sink.part(2)
    rest.write_batch([releases(2, 7)])
    assert rest.snapshot() == 7
    assert sink.names() == names(0, 7)


def test_a_release_that_differs_stops_the_replay(sink: Sink) -> None:
    sink.part().write_batch([releases(0, 6)])
    _settle(sink, 6)
    changed = releases(0, 8)
    values = [*changed.values]
    values[4] = b'{"zone":"vigorous","confidence":0.1234}'
    changed = replace(changed, values=values)
    with pytest.raises(ReleaseMismatch, match=r"release_mismatch: .*partition 2, offset 4 was"):
        sink.part().write_batch([changed])
    assert sink.names() == names(0, 6)


CHANGES: dict[str, Callable[[Outgoing], Outgoing]] = {
    "key": lambda out: replace(out, keys=[b"someone else", out.keys[1]]),
    "no key": lambda out: replace(out, keys=[None, out.keys[1]]),
    "timestamp": lambda out: replace(out, timestamps=[7, out.timestamps[1]]),
    "header": lambda out: replace(
        out, headers=[[out.headers[0][0], ("fugu-guarantee", b"other")], out.headers[1]]
    ),
}


@pytest.mark.parametrize("part", CHANGES)
def test_every_part_of_a_record_is_compared(sink: Sink, part: str) -> None:
    sink.part().write_batch([releases(0, 2)])
    _settle(sink, 2)
    with pytest.raises(ReleaseMismatch):
        sink.part().write_batch([CHANGES[part](releases(0, 2))])


def test_releases_under_another_secret_stop_the_replay(sink: Sink) -> None:
    sink.part().write_batch([releases(0, 6)])
    _settle(sink, 6)
    here = publisher()
    scope = DrawScope(Secret(bytes(32)), "heart-zones", "crr", 1, here.scope.law)
    elsewhere = replace(here, scope=scope)
    replay = elsewhere.releases(sanitized(8))
    with pytest.raises(ReleaseMismatch, match="is no release of this pipeline as it is now"):
        sink.part(by=elsewhere).write_batch([replay])
    assert sink.names() == names(0, 6)


def of_one_tick(secret: int) -> Outgoing:
    """Three groups at one time, named under a secret."""
    here = publisher()
    scope = DrawScope(Secret(bytes([secret] * 32)), "city", "pba", 1, here.scope.law)
    keys = [b"north", b"south", b"west"]
    headers = replace(here, scope=scope).tick_headers("trips", keys, [7] * 3)
    return Outgoing(PARTITION, list(keys), [b"{}"] * 3, headers, [8_000] * 3, [7] * 3)


def test_a_tick_that_comes_back_under_another_secret_is_not_published_again(sink: Sink) -> None:
    sink.ticks().write_batch([of_one_tick(1)])
    _settle(sink, 3)
    replay = sink.ticks()
    with pytest.raises(ReleaseMismatch, match="its tick has passed without it"):
        replay.write_batch([of_one_tick(2)])
    replay.snapshot()
    assert len(sink.names()) == 3
    same = sink.ticks()
    same.write_batch([of_one_tick(1)])
    assert same.snapshot() == 3


def test_a_copy_that_arrived_late_is_recognised_and_forgotten(sink: Sink) -> None:
    before = sink.part()
    before.write_batch([releases(0, 6)])
    assert before.snapshot() == 6
    before.write_batch([releases(2, 5)])
    _settle(sink, 9)
    after = sink.part(6, resumed=6)
    after.write_batch([releases(6, 7)])
    assert after.snapshot() == 10, "the copies do not hold the resume offset back"
    assert sink.names() == names(0, 6) + names(2, 5) + names(6, 7)


def test_what_was_published_of_records_that_are_gone_since_stops_the_replay(sink: Sink) -> None:
    """Compaction removed four of six: what they cost is in no snapshot."""
    sink.part().write_batch([releases(0, 6)])
    _settle(sink, 6)
    after = sink.part()
    after.write_batch([releases(4, 6)])
    with pytest.raises(StartRefused, match="a record that is not in the source any more"):
        after.write_batch([releases(6, 7)])
    assert sink.names() == names(0, 6)


def test_a_request_that_was_given_up_is_made_good(sink: Sink) -> None:
    sink.part().write_batch([releases(3, 6)])
    _settle(sink, 3)
    after = sink.part()
    after.write_batch([releases(0, 7)])
    after.snapshot()
    assert sorted(sink.names()) == sorted(names(0, 7))


def test_what_something_else_wrote_is_passed_over_with_one_warning(
    sink: Sink, caplog: pytest.LogCaptureFixture
) -> None:
    alien = Placed(PARTITION, Record(b"alien key", b"alien value"))
    produce(sink.bootstrap, sink.topic, [alien] * 3)
    after = sink.part()
    after.write_batch([releases(0, 2)])
    assert after.snapshot() == 5
    [said] = [line.getMessage() for line in caplog.records if "by Fugu" in line.getMessage()]
    assert "partition 2: 3 records were not written by Fugu, the first at offset 0" in said
    assert "alien" not in caplog.text


def test_a_transaction_that_somebody_else_leaves_open_is_not_waited_for_for_ever(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    with transactional_producer(sink.bootstrap) as producer:
        producer.begin_transaction()
        producer.send(sink.topic, b"alien", partition=PARTITION)
        producer.flush()
        with pytest.raises(KafkaUnavailable, match="a stop was requested before it ended"):
            sink.part(is_stopped=lambda: True)
        monkeypatch.setattr(sinks, "_LONGEST_SECONDS", 0.3)
        with pytest.raises(KafkaUnavailable, match=r"partition 2: behind offset 0.* find-hanging"):
            sink.part()
        producer.abort_transaction()


def test_a_sink_that_lost_its_beginning_is_refused(sink: Sink) -> None:
    sink.part().write_batch([releases(0, 6)])
    _settle(sink, 6)
    with KafkaAdminClient(bootstrap_servers=sink.bootstrap) as admin:
        admin.delete_records({TopicPartition(sink.topic, PARTITION): 4})
    sink.part(4)
    with pytest.raises(StartRefused, match="ends at offset 3, but the topic now holds offsets 4 t"):
        sink.part(3)


def test_a_sink_that_was_truncated_is_refused(sink: Sink) -> None:
    sink.part().write_batch([releases(0, 2)])
    _settle(sink, 2)
    with pytest.raises(StartRefused, match="ends at offset 3, but the topic now holds offsets 0 t"):
        sink.part(3)


def _settle(sink: Sink, records: int) -> None:
    """Wait until what a part has written without a snapshot is in the topic."""
    while len(sink.names()) < records:
        pass

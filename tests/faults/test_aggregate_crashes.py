"""Three processes that are killed again and again release the series of an undisturbed run."""

from contextlib import AbstractContextManager, ExitStack, closing
from functools import partial
from pathlib import Path
from random import Random

import orjson
from kafka import KafkaConsumer

from tests.faults.feeding import document_with_topics
from tests.kafka.pipelines import Document, RunningPipeline, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

PARTITIONS, SHARDS, USERS, TICKS = 4, 3, 400, 40
SECOND = 1_000
BEGIN = NOW // SECOND * SECOND
ZONES = ["north", "south", "west"]
KILLS = 5
RANDOM = Random(99)


def test_killed_processes_release_the_series_of_an_undisturbed_run(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source, (placed, late) = topics("trips", partitions=PARTITIONS), trips()
    produce(bootstrap, source, placed)
    disturbed, undisturbed = (document(bootstrap, topics, source) for _ in range(2))
    here = write_pipeline(tmp_path / "disturbed", disturbed)
    there = write_pipeline(tmp_path / "undisturbed", undisturbed)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:

        def done(of: Document) -> bool:
            sink = of["sink"]
            released, refused = (
                sum(end_offsets(consumer, sink[name])) for name in ("topic", "dead_letters")
            )
            return released >= (TICKS - 1) * len(ZONES) and refused == late

        def reached(partials: int) -> bool:
            return sum(end_offsets(consumer, disturbed["sink"]["partials"])) >= partials

        with running(there) as process:
            process.wait_until(lambda: done(undisturbed))
            assert process.stop() == 0, process.stderr

        with ExitStack() as stack:
            shards = [stack.enter_context(shard(here, number)) for number in range(SHARDS)]
            for kill in range(1, KILLS + 1):
                target = kill * PARTITIONS * (TICKS - 1) // (KILLS + 1)
                victim = RANDOM.randrange(SHARDS)
                shards[victim].wait_until(partial(reached, target))
                shards[victim].kill()
                shards[victim] = stack.enter_context(shard(here, victim))
            shards[0].wait_until(lambda: done(disturbed))
            assert [process.stop() for process in shards] == [0] * SHARDS

    series = read_topic(bootstrap, disturbed["sink"]["topic"])
    assert series == read_topic(bootstrap, undisturbed["sink"]["topic"])
    assert read_topic(bootstrap, disturbed["sink"]["dead_letters"]) == read_topic(
        bootstrap, undisturbed["sink"]["dead_letters"]
    )
    figures = [orjson.loads(record.value or b"") for record in series[0]]
    starts = [figure["start"] for figure in figures]
    ticks = range(starts[0], BEGIN + (TICKS - 1) * SECOND, SECOND)
    assert BEGIN - SECOND <= ticks[0] <= BEGIN, "a first tick may be one to which nobody came"
    assert [(f["start"], f["group"]) for f in figures] == [(t, z) for t in ticks for z in ZONES]
    assert max(figure["window_epsilon"] for figure in figures) <= 1.0
    assert any(not figure["published"] for figure in figures)
    logs = b"".join(r.value or b"" for r in read_topic(bootstrap, disturbed["sink"]["partials"])[0])
    assert b"user" not in logs


def document(bootstrap: str, topics: TopicFactory, source: str) -> Document:
    made = document_with_topics(bootstrap, topics, source, partitions=PARTITIONS)
    made["source"] |= {"timestamp": {"field": "at", "format": "epoch-ms"}}
    made["operator"] = {
        "kind": "budget_distribution",
        "epsilon": 1.0,
        "window": 8,
        "groups": ZONES,
        "ticks": {"width": "1s", "grace": "400ms"},
    }
    made["sink"] |= {"topic": topics("counts"), "partials": topics("partials")}
    made["state"] |= {"every": "200ms", "shards": SHARDS}
    return made


def shard(pipeline: Path, number: int) -> AbstractContextManager[RunningPipeline]:
    return running(pipeline, "--shard", f"{number}/{SHARDS}")


def trips() -> tuple[list[Placed], int]:
    """Everybody moves about; some records come twice or out of order, and so many late."""
    random, timed, refused = Random(5), [], 0
    for tick in range(TICKS):
        for user in range(USERS):
            at = BEGIN + tick * SECOND + random.randrange(900)
            late = tick > 3 and random.random() < 0.02
            zone = ZONES[(user + (tick + user) // 7) % len(ZONES)]
            value = orjson.dumps({"zone": zone, "at": at - 3 * SECOND * late})
            record = Record(b"user-%d" % user, value)
            copies = 2 if random.random() < 0.05 else 1
            arrives = at + random.randrange(300)
            refused += late * copies
            timed += [(arrives, user, Placed(user % PARTITIONS, record))] * copies
    for partition in range(PARTITIONS):
        end = orjson.dumps({"zone": "west", "at": BEGIN + TICKS * SECOND - 1})
        record = Record(b"user-%d" % partition, end)
        timed.append((BEGIN + TICKS * SECOND, partition, Placed(partition, record)))
    return [placed for *_, placed in sorted(timed, key=lambda entry: entry[:2])], refused

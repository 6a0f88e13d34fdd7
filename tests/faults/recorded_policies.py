"""The state of figures under policies, as a commit of Fugu left it between changes of policies.

`python -m tests.faults.recorded_policies FOLDER`, run with the Fugu of a commit, records it. Shard
0, which merges, stops in the middle of an interval; shard 1 writes on for some ticks, so that the
internal log holds entries that no merge has read.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import orjson
import yaml
from kafka import KafkaConsumer

from tests.faults.recorded_states import (
    BEGIN,
    PARTITIONS,
    SECOND,
    UNDER_POLICIES,
    archive,
    create_topics,
    topic_names,
    wait_until_quiet,
)
from tests.kafka.broker import Broker
from tests.kafka.clients import CHOSEN
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE, Document, running, write_pipeline
from tests.kafka.records import Placed, Record, end_offsets, produce

USERS, STOPPED, FURTHER = 20, 14, 17
"""Ticks up to `STOPPED` are read by all shards, and those up to `FURTHER` by shard 1."""
LONG = 100_000
"""Ticks: more than a change may add today, where nothing is declared."""
FIRST = BEGIN // SECOND
NAMES = topic_names(UNDER_POLICIES)


def policy(name: str, start: int, end: int, theta: float) -> Document:
    """Return a policy for the ticks from `start` to `end`; any one of them may change."""
    return {
        "id": name,
        "interval": {"start": at(start), "end": at(end + 1)},
        "pattern": {"ticks": 1},
        "theta": theta,
    }


def at(tick: int) -> str:
    """Return the time at which a tick begins."""
    return datetime.fromtimestamp(FIRST + tick, UTC).isoformat()


def addition(effective: int, name: str, start: int, end: int, theta: float) -> Placed:
    """Return the record that adds a policy."""
    change = {"effective": at(effective), "policy": policy(name, start, end, theta)}
    return Placed(0, Record(b"home/%b" % name.encode(), orjson.dumps(change)))


def removal(effective: int, name: str) -> Placed:
    """Return the record that removes a policy."""
    change = {"effective": at(effective), "remove": True}
    return Placed(0, Record(b"home/%b" % name.encode(), orjson.dumps(change)))


CONFIGURED = [
    policy("tea", 3, 6, 1.0),
    policy("sauna", 10, 20, 4.0) | {"pattern": {"ticks": 11}},
    policy("bath", 26, 30, 4.0),
]
CHANGES = [
    addition(3, "guests", 22, 24, 2.0),
    removal(4, "bath"),
    addition(5, "cruise", 1_000, 1_000 + LONG - 1, 0.5),
]


def document(bootstrap: str) -> Document:
    """Return the pipeline."""
    return {
        "name": "recorded-unicorn",
        "source": {
            "topic": NAMES["private"],
            "value": "kw",
            "policies": NAMES["policies"],
            "partitioner": "unchecked",
            "timestamp": {"field": "at", "format": "epoch-ms"},
        },
        "operator": {
            "kind": "unicorn",
            "policies": "policies.yaml",
            "ticks": {"stream_time": {"distinct_keys": 1}},
        },
        "sink": {
            "topic": NAMES["sanitized"],
            "key": "original",
            "dead_letters": NAMES["dead"],
            "partials": NAMES["partials"],
        },
        "kafka": {"bootstrap": bootstrap, "client": CHOSEN},
        "ledger": {"topic": NAMES["ledger"]},
        "state": {"directory": "state", "every": "200ms", "shards": PARTITIONS},
        "secret": {"env": SECRET_VARIABLE},
    }


POLICIES = {
    "version": 1,
    "grid": {"tick": "PT1S", "zone": "UTC"},
    "query": {"kind": "sum", "unit": "kW", "cap": 5.0, "resolution": 0.01},
    "epsilon": 1.0,
    "collections": [{"id": "home", "applies_to": {"default": True}, "policies": CONFIGURED}],
}


def meters(ticks: Sequence[int], partitions: Sequence[int] = range(PARTITIONS)) -> list[Placed]:
    """Return what users of these partitions draw in these ticks."""
    return [
        Placed(user % PARTITIONS, Record(b"meter-%d" % user, reading(tick, user)))
        for tick in ticks
        for user in range(USERS)
        if user % PARTITIONS in partitions
    ]


def reading(tick: int, user: int) -> bytes:
    """Return the value of a record."""
    kw = Random(tick * USERS + user).randrange(500) / 100
    return orjson.dumps({"at": BEGIN + tick * SECOND + user * 37 % 900, "kw": kw})


def record(bootstrap: str, folder: Path) -> None:
    """Run the pipeline, stop its shards one after the other, and write the archive."""
    create_topics(bootstrap, UNDER_POLICIES)
    private, partials, sanitized = (NAMES[name] for name in ("private", "partials", "sanitized"))
    with (
        TemporaryDirectory() as directory,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        pipeline = write_pipeline(Path(directory), document(bootstrap))
        (Path(directory) / "policies.yaml").write_text(yaml.safe_dump(POLICIES))

        with (
            running(pipeline, "--shard", f"0/{PARTITIONS}") as zero,
            running(pipeline, "--shard", f"1/{PARTITIONS}") as one,
        ):
            produce(bootstrap, NAMES["policies"], CHANGES)
            zero.wait_until(lambda: sum(end_offsets(consumer, partials)) >= len(CHANGES))
            produce(bootstrap, private, meters(range(STOPPED)))
            zero.wait_until(lambda: sum(end_offsets(consumer, sanitized)) >= STOPPED - 1)
            wait_until_quiet(bootstrap, NAMES)
            assert zero.stop() == 0, zero.stderr
            print(zero.stderr)
            read = sum(end_offsets(consumer, partials))
            produce(bootstrap, private, meters(range(STOPPED, FURTHER), [1]))
            one.wait_until(lambda: sum(end_offsets(consumer, partials)) > read)
            wait_until_quiet(bootstrap, NAMES)
            assert one.stop() == 0, one.stderr
            print(one.stderr, read, end_offsets(consumer, partials))
        archive(bootstrap, UNDER_POLICIES, Path(directory), folder, "policies.yaml")


if __name__ == "__main__":
    os.environ[SECRET_VARIABLE] = SECRET
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with Broker() as broker:
        record(broker.bootstrap, target)

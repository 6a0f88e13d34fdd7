"""States as a commit of Fugu left them at a graceful stop, with everything that was in the topics.

`python -m tests.faults.recorded_states FOLDER`, run with the Fugu of a commit, records one archive
for each kind: pipeline and model files, the state directory, and all records of all topics. A test
puts one back on the broker at hand with `restore`. Topics have the names they were recorded with;
only the identities that a broker gives them are exchanged.
"""

import os
import sys
import tarfile
import time
from base64 import b85decode, b85encode
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import yaml
from kafka import KafkaAdminClient, KafkaConsumer

from fugu.dataflows.records.published import RELEASE_HEADER
from fugu.dataflows.stages.log_entries import read_entry
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.operators.keys import Keys
from fugu.operators.randomness import DrawScope
from fugu.operators.secret import Secret
from tests.kafka.broker import Broker
from tests.kafka.clients import CHOSEN, connected
from tests.kafka.pipelines import (
    ALPHABET,
    SECRET,
    SECRET_VARIABLE,
    Document,
    running,
    write_pipeline,
)
from tests.kafka.records import Placed, Record, end_offsets, partitions_of, produce, read_topic

RECORDED = Path(__file__).with_name("recorded")
PARTITIONS, USERS, STEPS = 2, 24, 12
SECOND = 1_000
BEGIN = 1_790_000_000_000
BUDGET = 16.0
TICKS = {"width": "1s", "grace": "300ms"}
SYMBOLS = {"alphabet": ALPHABET, "model": "model.json"}
FIGURES = {"groups": ALPHABET, "ticks": TICKS}
OPERATORS: dict[str, dict[str, Any]] = {
    "crr": {"epsilon": 1.0, **SYMBOLS},
    "adaptive_crr": {"decision_epsilon": 0.5, "epsilon": 1.0, **SYMBOLS},
    "batched_crr": {"window": 4, "epsilon_per_batch": 3.0, "kernel": "heuristic", **SYMBOLS},
    "cold_start_crr": {
        "epsilon": 1.0,
        "positions": 8,
        "when_short": "accept",
        "alphabet": ALPHABET,
    },
    "threshold_perturbation": {"window": 4, "epsilon": 3.0, "ticks": TICKS},
    "real_time_local": {
        "lower": 40,
        "upper": 180,
        "epsilon": 8.0,
        "delta": 1e-6,
        "horizon": 30,
        "ticks": TICKS,
    },
    "budget_distribution": {"epsilon": 1.0, "window": 8, **FIGURES},
    "real_time": {"epsilon": 2.0, "delta": 1e-6, "horizon": 30, **FIGURES},
}
"""Settings of each kind whose state or law another version may change."""
WITH_BUDGET = ("crr", "adaptive_crr", "batched_crr", "cold_start_crr")
UNDER_POLICIES = "unicorn"
"""Recorded by `recorded_policies`."""
AGGREGATES = ("budget_distribution", "real_time", UNDER_POLICIES)


def document(bootstrap: str, kind: str) -> Document:
    """Return the pipeline of a kind."""
    names = topic_names(kind)
    sink = {"topic": names["sanitized"], "key": "original", "dead_letters": names["dead"]}
    value = "bpm" if kind in ("threshold_perturbation", "real_time_local") else "zone"
    return {
        "name": f"recorded-{kind.replace('_', '-')}",
        "source": {
            "topic": names["private"],
            "value": value,
            "partitioner": "unchecked",
            "timestamp": {"field": "at", "format": "epoch-ms"},
        },
        "operator": {"kind": kind, **OPERATORS[kind]},
        "sink": sink | ({"partials": names["partials"]} if kind in AGGREGATES else {}),
        "kafka": {"bootstrap": bootstrap, "client": CHOSEN},
        "ledger": {"topic": names["ledger"]},
        "state": {"directory": "state", "every": "200ms"},
        "secret": {"env": SECRET_VARIABLE},
        **({"budget": {"total": BUDGET}} if kind in WITH_BUDGET else {}),
    }


def topic_names(kind: str) -> dict[str, str]:
    """Return the topics of a kind, by what they are for."""
    uses = ["private", "sanitized", "dead", "ledger", "partials"]
    uses += ["policies"] if kind == UNDER_POLICIES else []
    return {use: f"fugu-recorded-{kind.replace('_', '-')}-{use}" for use in uses}


def readings(steps: Sequence[int]) -> list[Placed]:
    """Return one record of every user for each of these steps, and one that is refused."""
    return [
        Placed(user % PARTITIONS, Record(b"user-%d" % user, reading(step, user)))
        for step in steps
        for user in range(USERS)
    ]


def reading(step: int, user: int) -> bytes:
    """Return the value of a record; the last user's is refused now and then."""
    at = BEGIN + step * SECOND + user * 37 % 900
    zone = ALPHABET[(step // 3 + user) % len(ALPHABET)]
    refused = user == USERS - 1 and step % 4 == 3
    return orjson.dumps({"zone": "?" if refused else zone, "bpm": 60 + step + user, "at": at})


def record(bootstrap: str, kind: str, folder: Path) -> None:
    """Run the pipeline of a kind over all steps, stop it gracefully, and write the archive."""
    create_topics(bootstrap, kind)
    described, names = document(bootstrap, kind), topic_names(kind)
    with TemporaryDirectory() as directory:
        pipeline = write_pipeline(Path(directory), described)
        produce(bootstrap, names["private"], readings(range(STEPS)))
        with running(pipeline) as process:
            process.wait_until_started()
            wait_until_quiet(bootstrap, names)
            assert process.stop() == 0, process.stderr
            print(process.stderr)
        archive(bootstrap, kind, Path(directory), folder, "model.json")


def archive(bootstrap: str, kind: str, directory: Path, folder: Path, beside: str) -> None:
    """Write files, state and records of a pipeline that was stopped into `folder`."""
    (directory / "topics.json").write_bytes(dumped(bootstrap, topic_names(kind)))
    with tarfile.open(folder / f"{kind}.tar.gz", "w:gz") as tar:
        for name in ("pipeline.yaml", beside, "state", "topics.json"):
            tar.add(directory / name, arcname=name)


def wait_until_quiet(bootstrap: str, names: Mapping[str, str]) -> None:
    """Return once something is released and nothing has been written for five seconds."""
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        before, since = [[-1]], time.monotonic()
        while time.monotonic() - since < 5:
            now = [end_offsets(consumer, name) for name in names.values()]
            if now != before or not sum(end_offsets(consumer, names["sanitized"])):
                before, since = now, time.monotonic()
            time.sleep(0.1)


def dumped(bootstrap: str, names: Mapping[str, str]) -> bytes:
    """Return all records of all topics, and the identities of the topics."""
    client = connected(bootstrap)
    topics = {}
    for name in names.values():
        found = client.topic(name)
        assert found is not None
        partitions = [
            [[text(r.key), text(r.value), r.timestamp, headers(r)] for r in records]
            for _, records in sorted(read_topic(bootstrap, name).items())
        ]
        topics[name] = {"identity": found.identity, "partitions": partitions}
    return orjson.dumps(topics)


def headers(record: Record) -> list[list[str | None]]:
    """Return headers as text."""
    return [[name, text(value)] for name, value in record.headers]


def text(content: bytes | None) -> str | None:
    """Return bytes as text."""
    return None if content is None else b85encode(content).decode()


def content(text: str | None) -> bytes | None:
    """Return the bytes that `text` made text of."""
    return None if text is None else b85decode(text)


def restore(bootstrap: str, kind: str, folder: Path) -> Path:
    """Put a recorded state into `folder` and its records into topics; return the pipeline file."""
    with tarfile.open(RECORDED / f"{kind}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    create_topics(bootstrap, kind)
    topics = orjson.loads((folder / "topics.json").read_bytes())
    client, identities = connected(bootstrap), {}
    for name, topic in topics.items():
        found = client.topic(name)
        assert found is not None
        identities[topic["identity"].encode()] = found.identity.encode()
    log = topic_names(kind)["partials"]
    for name, topic in topics.items():
        placed = restored(topic["partitions"], identities)
        if name == log:
            identity = identities[topic["identity"].encode()].decode()
            placed = [replace(one, record=named_anew(one.record, kind, identity)) for one in placed]
        produce(bootstrap, name, placed)
    for path in folder.glob("state/*/fingerprint.json"):
        path.write_bytes(exchanged(path.read_bytes(), identities))
    pipeline = folder / "pipeline.yaml"
    described = yaml.safe_load(pipeline.read_text())
    described["kafka"] = {"bootstrap": bootstrap, "client": CHOSEN}
    pipeline.write_text(yaml.safe_dump(described, sort_keys=False))
    return pipeline


def restored(partitions: list[list[Any]], identities: Mapping[bytes, bytes]) -> list[Placed]:
    """Return recorded records, about the topics of the broker at hand."""
    placed = []
    for partition, records in enumerate(partitions):
        for key, value, timestamp, header in records:
            named = [
                None if part is None else exchanged(part, identities)
                for part in (content(key), content(value))
            ]
            kept = tuple((name, content(value) or b"") for name, value in header)
            placed.append(Placed(partition, Record(named[0], named[1], kept, timestamp)))
    return placed


def named_anew(record: Record, kind: str, log: str) -> Record:
    """Return an entry of the internal log with the release id that it has in this one."""
    entry = read_entry(record.value, log) if record.value else None
    if record.key is None or not isinstance(entry, PartialSums):
        return record
    noise = Keys.from_root(Secret(bytes.fromhex(SECRET))).noise
    scope = DrawScope(noise, f"recorded-{kind.replace('_', '-')}", kind, 1, b"")
    [name] = scope.tick_release_ids(log, [record.key], [entry.part], [entry.tick])
    others = [one for one in record.headers if one[0] != RELEASE_HEADER]
    return replace(record, headers=((RELEASE_HEADER, bytes(name)), *others))


def exchanged(text: bytes, identities: Mapping[bytes, bytes]) -> bytes:
    """Return a text with the identities of the broker at hand."""
    for before, now in identities.items():
        text = text.replace(before, now)
    return text


def create_topics(bootstrap: str, kind: str) -> None:
    """Create the topics of a kind, empty, whatever was there."""
    names = topic_names(kind)
    layouts = {}
    for use, name in names.items():
        single = use in ("partials", "ledger", "policies")
        single |= use == "sanitized" and kind in AGGREGATES
        configs = {"retention.ms": "-1"}
        if use == "ledger":
            configs["cleanup.policy"] = "compact"
        layouts[name] = {
            "num_partitions": 1 if single else PARTITIONS,
            "replication_factor": 1,
            "configs": configs,
        }
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        there = set(admin.list_topics()) & set(layouts)
        if there:
            admin.delete_topics(sorted(there))
        admin.create_topics(layouts, wait_for_metadata=True)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        for name in layouts:
            partitions_of(consumer, name)


if __name__ == "__main__":
    os.environ[SECRET_VARIABLE] = SECRET
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with Broker() as broker:
        for kind in OPERATORS if len(sys.argv) < 3 else sys.argv[2:]:
            record(broker.bootstrap, kind, target)

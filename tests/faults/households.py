"""Pipelines of households under policies that change: files, records, and what is released."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import orjson
import yaml

from tests.faults.feeding import document_with_topics
from tests.kafka.pipelines import Document, write_pipeline
from tests.kafka.records import NOW, Placed, Record, read_topic
from tests.kafka.topics import TopicFactory

PARTITIONS, USERS = 4, 60
SECOND = 1_000
FIRST = NOW // SECOND
"""Ticks are seconds, counted from 1970; those of tests count from this one."""

WEEKS = 6 * 7 * 24 * 60 * 60
"""Six weeks of ticks."""
LATER = 100_000

Figure = dict[str, Any]


def pipeline(bootstrap: str, topics: TopicFactory, source: str, changes: str) -> Document:
    """A pipeline over `source` with topics of its own, whose policies change by `changes`."""
    made = document_with_topics(bootstrap, topics, source, partitions=PARTITIONS)
    made["source"] |= {
        "value": "kw",
        "policies": changes,
        "timestamp": {"field": "at", "format": "epoch-ms"},
    }
    time = {"stream_time": {"distinct_keys": 1}}
    made["operator"] = {"kind": "unicorn", "policies": "policies.yaml", "ticks": time}
    made["sink"] |= {"topic": topics("power"), "partials": topics("partials")}
    made["state"] |= {"every": "200ms", "shards": 2}
    return made


def write_household(directory: Path, document: Document, policies: Sequence[Document]) -> Path:
    """Write the pipeline file, and a document with these policies of everybody."""
    path = write_pipeline(directory, document)
    written = {
        "version": 1,
        "grid": {"tick": "PT1S", "zone": "UTC"},
        "query": {"kind": "sum", "unit": "kW", "cap": 5.0, "resolution": 0.01},
        "epsilon": 1.0,
        "collections": [
            {"id": "home", "applies_to": {"default": True}, "policies": list(policies)}
        ],
    }
    (directory / "policies.yaml").write_text(yaml.safe_dump(written))
    return path


def exact_pipeline(bootstrap: str, topics: TopicFactory) -> Document:
    """A pipeline with topics of its own, which publishes true figures where nothing is hidden."""
    made = pipeline(bootstrap, topics, topics("power", partitions=PARTITIONS), topics("policies"))
    made["operator"]["irrelevant"] = "exact"
    return made


def write_later_household(directory: Path, document: Document) -> Path:
    """Write the pipeline file, and a document that hides something long after, and nothing now."""
    return write_household(directory, document, [policy("tea", LATER, LATER + 5, 1.0)])


def policy(name: str, start: int, end: int, theta: float) -> Document:
    """For the ticks `start` to `end` from the first one on; any one of them may change."""
    return {
        "id": name,
        "interval": {"start": at(start), "end": at(end + 1)},
        "pattern": {"ticks": 1},
        "theta": theta,
    }


def at(tick: int) -> str:
    """The time at which a tick begins."""
    return datetime.fromtimestamp(FIRST + tick, UTC).isoformat()


def addition(effective: int, name: str, start: int, end: int, theta: float) -> Placed:
    """A record of the policy topic that adds a policy."""
    change = {"effective": at(effective), "policy": policy(name, start, end, theta)}
    return Placed(0, Record(b"home/%b" % name.encode(), orjson.dumps(change)))


def meters(begin: int, end: int, random: Random) -> Iterator[Placed]:
    """Yield what all users draw in these ticks."""
    for tick in range(begin, end):
        for user in range(USERS):
            when = (FIRST + tick) * SECOND + random.randrange(SECOND)
            value = orjson.dumps({"at": when, "kw": round(random.uniform(0.0, 5.0), 2)})
            yield Placed(user % PARTITIONS, Record(b"meter-%d" % user, value))


def figures_of(bootstrap: str, document: Mapping[str, Any]) -> dict[int, Figure]:
    """Return what is released of every tick."""
    records = read_topic(bootstrap, document["sink"]["topic"])[0]
    figures = [orjson.loads(record.value or b"") for record in records]
    return {figure["start"] // SECOND - FIRST: figure for figure in figures}

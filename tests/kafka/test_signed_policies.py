"""A running pipeline takes changes by owners, and only what adds from everybody else."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import orjson
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fugu.dataflows.base.batches import Header
from fugu.dataflows.policies.signatures import HEADER, public_key_of, signed
from tests.kafka.clients import BOTH
from tests.kafka.pipelines import Document, pipeline_document, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

SECOND = 1_000
FIRST = NOW // SECOND
ALICE, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i in (1, 2))
SAUNA, TEA = b"home/sauna", b"home/tea"


@pytest.mark.parametrize("library", BOTH)
def test_of_all_who_write_removals_only_the_owner_is_obeyed(
    library: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source, changes, sink, log = map(topics, ("power", "policies", "sink", "log"))
    document = pipeline_document(bootstrap, source, sink)
    document["source"] |= {
        "value": "kw",
        "policies": changes,
        "timestamp": {"field": "at", "format": "epoch-ms"},
    }
    document["operator"] = {"kind": "unicorn_ps", "policies": "policies.yaml"}
    document["sink"]["partials"] = log
    document["kafka"]["client"] = library
    path = write_pipeline(tmp_path, document)
    (tmp_path / "policies.yaml").write_text(yaml.safe_dump(policies()))

    removal = orjson.dumps({"effective": 0, "remove": True, "sequence": 1})
    [(_, content)] = alice(changes, SAUNA, removal)
    written: list[tuple[bytes, bytes | None, list[Header]]] = [
        (SAUNA, None, []),
        (SAUNA, removal, []),
        (SAUNA, removal, alice("another-topic", SAUNA, removal)),
        (SAUNA, removal, alice(changes, TEA, removal)),
        (SAUNA, removal, [signed(changes, SAUNA, removal, STRANGER, "alice")]),
        (SAUNA, removal, [(HEADER, content[:-4])]),
        (TEA, removal, alice(changes, TEA, removal)),
        (TEA, removal, alice(changes, TEA, removal)),
    ]
    records = [Placed(0, Record(key, value, tuple(headers))) for key, value, headers in written]
    produce(bootstrap, changes, records)
    with running(path) as process:
        process.wait_until(partial(entries, bootstrap, log, 4))
        produce(bootstrap, source, list(meters(30)))
        process.wait_until(lambda: len(figures(bootstrap, sink)) >= 25)
        assert process.stop() == 0, process.stderr
    asked = {one["start"] // SECOND - FIRST: one["sensitivity"] for one in figures(bootstrap, sink)}
    assert {asked[tick] for tick in range(10, 16)} == {4.0}, "the sauna is hidden as before"
    assert {asked[tick] for tick in range(18, 22)} == {0.0}, "the tea is not: alice removed it"
    dead = [orjson.loads(one.value or b"") for one in read_topic(bootstrap, f"{sink}.dead")[0]]
    refused = [one["field"] for one in dead if one["reason"] == "bad_policy"]
    assert refused == ["home/sauna: signature"] * 4
    assert "home/tea is removed" in process.stderr


def alice(topic: str, key: bytes, value: bytes) -> list[Header]:
    return [signed(topic, key, value, ALICE, "alice")]


def policies() -> Document:
    """Two policies of a second's notice, which is over before they begin."""
    return {
        "version": 1,
        "grid": {"tick": "PT1S", "zone": "UTC"},
        "query": {"kind": "sum", "unit": "kW", "cap": 5.0, "resolution": 0.01},
        "epsilon": 1.0,
        "notice": "PT1S",
        "owners": [{"name": "alice", "ed25519": public_key_of(ALICE)}],
        "collections": [
            {
                "id": "home",
                "applies_to": {"default": True},
                "policies": [policy("sauna", 10, 15, 4.0), policy("tea", 18, 21, 1.0)],
            }
        ],
    }


def policy(name: str, start: int, end: int, theta: float) -> Document:
    moments = (datetime.fromtimestamp(FIRST + tick, UTC).isoformat() for tick in (start, end + 1))
    return {
        "id": name,
        "interval": dict(zip(("start", "end"), moments, strict=True)),
        "pattern": {"ticks": 1},
        "theta": theta,
    }


def meters(ticks: int) -> list[Placed]:
    return [
        Placed(
            0,
            Record(
                b"meter-%d" % user,
                orjson.dumps({"at": (FIRST + tick) * SECOND + user, "kw": 1.5}),
            ),
        )
        for tick in range(ticks)
        for user in range(5)
    ]


def entries(bootstrap: str, log: str, least: int) -> bool:
    """Return whether the internal log holds so many changes."""
    return sum(one.key == b"policies" for one in read_topic(bootstrap, log)[0]) >= least


def figures(bootstrap: str, sink: str) -> list[Document]:
    return [orjson.loads(one.value or b"") for one in read_topic(bootstrap, sink)[0]]

"""`fugu policy force`, `change` and `proof`: what topics say of policies that change.

The topics are on the embedded broker. Figures carry the digests that a pipeline gives them, or
those of one that is not honest.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from typer.testing import CliRunner, Result

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands import policy_change
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.policies.changes import change
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.signatures import public_key_of, read_private_key, write_private_key
from fugu.operators.swellfish.strategy import first_digest, next_digest

HOUR_MS = 3_600_000
FIRST = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp()) * 1000 // HOUR_MS
"""The first tick with a figure, an hour of Monday."""
POLICIES, FIGURES = "power.policies", "power.sanitized"
COOKING = {
    "id": "cooking",
    "calendar": {"days": ["fri"], "start": "17:00", "end": "18:00"},
    "pattern": {"ticks": 1},
    "theta": 3.0,
}
DOCUMENT: dict[str, Any] = {
    "version": 1,
    "grid": {"tick": "1h", "zone": "UTC"},
    "query": {"kind": "sum", "unit": "kW", "cap": 10.0, "resolution": 0.1},
    "epsilon": 1.0,
    "collections": [
        {
            "id": "home",
            "applies_to": {"default": True},
            "policies": [
                {
                    "id": "tea",
                    "calendar": {"days": ["mon", "tue", "wed"], "start": "06:00", "end": "08:00"},
                    "pattern": {"ticks": 1},
                    "theta": 2.0,
                }
            ],
        }
    ],
}


def at(hour: int) -> str:
    return datetime.fromtimestamp((FIRST + hour) * 3600, UTC).isoformat()


def sauna(start: int, end: int, effective: int = 0) -> dict[str, object]:
    policy = {
        "id": "sauna",
        "interval": {"start": at(start), "end": at(end)},
        "pattern": {"ticks": 1},
        "theta": 4.0,
    }
    return {"effective": at(effective), "policy": policy}


@dataclass
class Home:
    """A pipeline file on a broker, and what stands in its topics."""

    file: PipelineFile
    client: Client
    document: PolicyDocument

    def write(self, topic: str, key: bytes | None, value: bytes) -> None:
        with closing(self.client.writer()) as writer:
            writer.write(topic, Outgoing(0, [key], [value], [[]], [0]))
            writer.flush()

    def change(self, value: dict[str, object], key: bytes = b"home/sauna") -> bytes:
        self.write(POLICIES, key, orjson.dumps(value))
        return change(key, orjson.dumps(value), self.document).to_bytes()

    def figures(self, hours: range, digest: bytes) -> None:
        for hour in hours:
            figure = {"start": (FIRST + hour) * HOUR_MS, "value": 1.0, "policies": digest.hex()}
            self.write(FIGURES, None, orjson.dumps(figure))

    def records(self) -> list[bytes | None]:
        with closing(self.client.reader(POLICIES)) as reader:
            end = reader.bounds([0])[0].end
            return [value for batch in reader.read_range(0, 0, end) for value in batch.values]

    def run(self, command: str, *options: str) -> Result:
        arguments = ["policy", command, str(self.file.path), *options]
        return CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})

    def said(self, command: str, *options: str, code: int = 0) -> str:
        result = self.run(command, *options)
        assert result.exit_code == code, result.exception
        return " ".join(result.stdout.split())


@pytest.fixture
def key(tmp_path: Path) -> Path:
    write_private_key(tmp_path / "alice.pem")
    return tmp_path / "alice.pem"


@pytest.fixture
def owns_all() -> bool:
    """Return whether alice owns the whole document, and not the cabin alone."""
    return False


@pytest.fixture
def home(tmp_path: Path, key: Path, owns_all: bool) -> Iterator[Home]:
    alice = {"owners": [{"name": "alice", "ed25519": public_key_of(read_private_key(key))}]}
    cabin = {"id": "cabin", "applies_to": {"keys": ["c"]}, "policies": [COOKING]}
    cabin |= {} if owns_all else alice
    document = {**DOCUMENT, "collections": [*DOCUMENT["collections"], cabin]}
    document |= alice if owns_all else {}
    (tmp_path / "policies.yaml").write_text(yaml.safe_dump(document))
    with EmbeddedBroker() as bootstrap:
        pipeline = {
            "name": "power",
            "source": {"topic": "power.raw", "value": "kw", "policies": POLICIES},
            "operator": {"kind": "unicorn_ps", "policies": "policies.yaml"},
            "sink": {"topic": FIGURES},
            "kafka": {"bootstrap": bootstrap, "broker": "embedded"},
            "state": {"directory": "./state"},
            "secret": {"env": "FUGU_SECRET"},
        }
        path = tmp_path / "power.yaml"
        path.write_text(yaml.safe_dump(pipeline))
        file = PipelineFile.read(path)
        client = client_of(file.connection())
        for topic in (POLICIES, FIGURES):
            client.topic(topic)
        yield Home(file, client, PolicyDocument.read(tmp_path / "policies.yaml"))


def before(home: Home) -> bytes:
    return first_digest(home.document.policies.digest())


def test_proof_says_when_a_policy_was_in_force(home: Home) -> None:
    told = home.change(sauna(12, 15))
    home.figures(range(10), before(home))
    home.figures(range(10, 20), next_digest(before(home), told, FIRST + 10))
    said = home.said("proof", "--policy", "home/sauna")
    assert "2026-03-02 00:00 2026-03-02 10:00 not in force" in said
    assert "2026-03-02 12:00 2026-03-02 15:00 protected" in said
    assert "offset 0, home/sauna: known to figures from 2026-03-02 10:00 on" in said
    assert "All 20 figures were made with the document and the changes of the topic." in said


def test_proof_finds_out_a_pipeline_that_ignores_a_change(home: Home) -> None:
    home.change(sauna(12, 15))
    later = home.change({"effective": 0, "remove": True}, key=b"home/tea")
    home.figures(range(10), before(home))
    home.figures(range(10, 20), next_digest(before(home), later, FIRST + 10))
    said = home.said("proof", "--policy", "home/sauna", code=1)
    assert "2026-03-02 10:00 2026-03-02 20:00 unexplained" in said
    assert "The figure at offset 10, 2026-03-02 10:00, was made with other policies" in said


def test_proof_names_the_last_changes_that_no_figure_knows(home: Home) -> None:
    """A pipeline that has never read the topic looks like one that the change came too late for."""
    home.change(sauna(12, 15))
    home.figures(range(20), before(home))
    said = home.said("proof")
    assert "offset 0, home/sauna: written 1970-01-01 00:00, and known to no figure" in said
    assert "and the changes of the topic, but for the last 1 change. Figures go to 2026-03" in said
    assert "All 20 figures were made with the document and the changes of the topic." not in said
    [unknown] = orjson.loads(home.run("proof", "--json").stdout)["unknown"]
    assert unknown["offset"] == 0


def test_proof_finds_out_a_pipeline_that_leaves_digests_out_for_a_while(home: Home) -> None:
    home.figures(range(10), before(home))
    home.figures(range(10, 12), b"")
    home.figures(range(12, 20), before(home))
    assert "The figure at offset 10, 2026-03-02 10:00" in home.said("proof", code=1)


def test_proof_finds_out_a_pipeline_that_lies_about_when_it_knew(home: Home) -> None:
    told = home.change(sauna(12, 15))
    home.figures(range(10), before(home))
    home.figures(range(10, 20), next_digest(before(home), told, FIRST + 2))
    document = orjson.loads(home.run("proof", "--json").stdout)
    assert not document["explained"]
    assert document["first_unexplained"]["tick"] == FIRST + 10


def test_proof_says_what_became_of_each_change(home: Home) -> None:
    added = home.change(sauna(12, 15))
    refused = home.change({"effective": 0, "remove": True}, key=b"cabin/cooking")
    digest = next_digest(next_digest(before(home), added, FIRST), refused, FIRST)
    home.figures(range(10), digest)
    said = home.said("proof")
    assert "home/sauna is added from 2026-03-02T00:00Z on" in said
    assert "refused: policy cooking: collection cabin is owned" in said


def test_force_before_the_first_figure_is_about_now(home: Home) -> None:
    earliest = time.time() // 3600
    data = orjson.loads(home.run("force", "--json").stdout)
    assert earliest <= data["tick"] <= time.time() // 3600


def test_proof_of_a_policy_that_nobody_wrote_names_those_there_are(home: Home) -> None:
    with pytest.raises(ConfigurationError, match="those of home are tea"):
        raise home.run("proof", "--policy", "home/sauna").exception or AssertionError


def test_force_lists_what_counts_and_what_no_figure_knows_yet(home: Home) -> None:
    told = home.change(sauna(30, 33))
    home.figures(range(20), next_digest(before(home), told, FIRST))
    home.change({"effective": 0, "remove": True}, key=b"home/tea")
    said = home.said("force")
    assert "In force on 2026-03-02 20:00" in said
    assert "home/tea 2 kW the document 2026-03-03 06:00" in said
    assert "home/sauna 4 kW 2026-03-02 00:00 2026-03-03 06:00" in said
    assert "offset 1, home/tea: no figure knows of it yet" in said


def test_a_collection_that_was_made_is_shown_and_proved(home: Home) -> None:
    policy = sauna(12, 15)["policy"]
    made = home.change({"effective": 0, "collection": {"policies": [policy]}}, key=b"hotel")
    home.figures(range(10), before(home))
    home.figures(range(10, 20), next_digest(before(home), made, FIRST + 10))
    assert "hotel/sauna 4 kW" in home.said("force", "--at", "2026-03-02T11:00")
    said = home.said("proof", "--policy", "hotel/sauna")
    assert "2026-03-02 12:00 2026-03-02 15:00 protected" in said
    assert "offset 0, hotel: known to figures from 2026-03-02 10:00 on" in said


def test_keys_are_not_moved_by_an_owner_of_one_collection(
    home: Home, tmp_path: Path, key: Path
) -> None:
    path = tmp_path / "change.yaml"
    path.write_text(yaml.safe_dump({"change": "cabin", "effective": 0, "keys": ["meter-7"]}))
    with pytest.raises(ConfigurationError, match="by owners of the whole document only"):
        raise home.run("change", str(path), "--key", str(key)).exception or AssertionError


@pytest.mark.parametrize("owns_all", [True])
def test_keys_that_an_owner_moved_are_shown(
    home: Home, tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = (FIRST + 20) * HOUR_MS
    monkeypatch.setattr(policy_change, "_now", lambda: written)
    home.figures(range(20), before(home))
    path = tmp_path / "change.yaml"
    path.write_text(yaml.safe_dump({"change": "cabin", "effective": 0, "keys": ["meter-7"]}))
    said = home.said("change", str(path), "--send", "--key", str(key))
    assert "a key moved to cabin from" in said
    [record] = home.records()
    signed = change(b"cabin", record, home.document, owner=True, timestamp=written).to_bytes()
    home.figures(range(20, 22), next_digest(before(home), signed, FIRST + 20))
    assert "key meter-7: collection cabin from 2026-03-03 00:00 on" in home.said("force")
    [moved] = orjson.loads(home.run("force", "--json").stdout)["moved_keys"]
    assert (moved["key"], moved["to"]) == ("meter-7", "cabin")


def test_force_at_an_earlier_time_does_not_know_what_came_later(home: Home) -> None:
    told = home.change(sauna(30, 33))
    home.figures(range(10), before(home))
    home.figures(range(10, 20), next_digest(before(home), told, FIRST + 10))
    policies = orjson.loads(home.run("force", "--at", "2026-03-02T05:00", "--json").stdout)
    names = [one["policy"] for one in policies["policies"]]
    assert names == ["home/tea", "cabin/cooking"]


def test_change_that_is_tried_out_is_not_written(home: Home, tmp_path: Path) -> None:
    home.figures(range(20), before(home))
    path = tmp_path / "change.yaml"
    path.write_text(yaml.safe_dump({"change": "home/sauna", **sauna(30, 33)}))
    said = home.said("change", str(path))
    assert "home/sauna is added from 2026-03-02T20:00Z on" in said
    assert 'known_by_no_figure": []' in home.run("force", "--json").stdout
    assert "Written to topic power.policies, offset 0." in home.said("change", str(path), "--send")
    assert "offset 0, home/sauna: no figure knows of it yet" in home.said("force")


def test_change_that_the_pipeline_would_refuse_is_not_written(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "change.yaml"
    path.write_text(yaml.safe_dump({"change": "home/bath", "effective": 0, "remove": True}))
    with pytest.raises(ConfigurationError, match="would refuse it: policy bath"):
        raise home.run("change", str(path), "--send").exception or AssertionError


def test_change_says_what_noise_it_costs(home: Home, tmp_path: Path) -> None:
    home.figures(range(20), before(home))
    path = tmp_path / "change.yaml"
    path.write_text(yaml.safe_dump({"change": "home/sauna", **sauna(30, 33)}))
    said = home.said("change", str(path))
    assert "28 days from 2026-03-03 06:00 on: mean 0.1 kW without the change" in said
    assert "at most 3 kW and 12 kW" in said, (
        "sauna beside tea: (2 + 4) kW times 2 ticks that can differ"
    )


def test_owner_signs_what_a_stranger_may_not_send(home: Home, tmp_path: Path, key: Path) -> None:
    home.figures(range(20), before(home))
    path = tmp_path / "change.yaml"
    path.write_text(yaml.safe_dump({"change": "cabin/cooking", "effective": 0, "remove": True}))
    with pytest.raises(ConfigurationError, match="would refuse it"):
        raise home.run("change", str(path), "--send").exception or AssertionError
    assert "cabin/cooking is removed" in home.said("change", str(path), "--send", "--key", str(key))
    assert "offset 0, cabin/cooking: no figure knows of it yet" in home.said("force")
    path.write_text(yaml.safe_dump({"change": "cabin/cooking", "effective": 0, "remove": True}))
    [record] = home.records()
    assert orjson.loads(record or b"")["sequence"] == 1

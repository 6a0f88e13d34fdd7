"""Restarted with another secret or law, a pipeline publishes nothing."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer

from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.randomness import Secret
from tests.faults.feeding import document_with_topics, stream
from tests.kafka.pipelines import (
    MODEL,
    OTHER_SECRET,
    SECRET,
    Document,
    fugu,
    refusal,
    running,
    write_pipeline,
)
from tests.kafka.records import end_offsets, produce
from tests.kafka.topics import TopicFactory

RECORDS = 10_000
UNTIL_KILLED = RECORDS // 2


@dataclass(frozen=True)
class Killed:
    """A pipeline that was killed before its first snapshot; all it published must be recognised."""

    bootstrap: str
    directory: Path
    document: Document

    def ends(self) -> list[int]:
        sink = self.document["sink"]
        with closing(KafkaConsumer(bootstrap_servers=self.bootstrap)) as consumer:
            return [
                end
                for topic in (sink["topic"], sink["dead_letters"])
                for end in end_offsets(consumer, topic)
            ]

    def restart(
        self,
        directory: Path,
        *,
        change: Callable[[Document], None] = lambda _: None,
        model: dict[str, Any] = MODEL,
        secret: str = SECRET,
        forge_fingerprint: bool = False,
    ) -> str:
        """Return what a changed pipeline says to a copy of the state; it must publish nothing."""
        shutil.copytree(self.directory, directory)
        document = json.loads(json.dumps(self.document))
        change(document)
        path = write_pipeline(directory, document, model)
        if forge_fingerprint:
            fugu("state", "claim", path)
            forge(path, secret)
        before = self.ends()
        said = refusal(path, secret=secret)
        assert self.ends() == before
        return said


def forge(path: Path, secret: str) -> None:
    """Make the stored fingerprint fit the changed pipeline, as only a mistake would."""
    fingerprint = path.parent / "state" / "shard-0000" / "fingerprint.json"
    stored = json.loads(fingerprint.read_bytes())
    stored["secret_check"] = Secret(bytes.fromhex(secret)).check_value()
    stored["law"] = configure(PipelineFile.read(path)).mechanism.law_digest().hex()
    fingerprint.write_text(json.dumps(stored))


@pytest.fixture(scope="module")
def killed(
    bootstrap: str, topics: TopicFactory, tmp_path_factory: pytest.TempPathFactory
) -> Killed:
    source = topics("private", partitions=2)
    placed = stream(RECORDS, seed=3, partitions=2).placed
    produce(bootstrap, source, placed[:UNTIL_KILLED])
    document = document_with_topics(bootstrap, topics, source, partitions=2)
    document["state"]["every"] = "60m"
    document["state"]["control"] = topics("control", configs={"cleanup.policy": "compact"})
    document["source"]["max_batch"] = 100
    directory = tmp_path_factory.mktemp("killed") / "pipeline"
    killed = Killed(bootstrap, directory, document)
    with running(write_pipeline(directory, document)) as process:
        process.wait_until(lambda: sum(killed.ends()) == UNTIL_KILLED)
        process.kill()
    produce(bootstrap, source, placed[UNTIL_KILLED:])
    return killed


def epsilon(document: Document) -> None:
    document["operator"]["epsilon"] = 1.5


def version(document: Document) -> None:
    document["version"] = 2


def name(document: Document) -> None:
    document["name"] = "other-zones"


OTHER_MODEL = MODEL | {"prior": [0.7, 0.1, 0.1, 0.1]}


def test_another_secret_is_refused(killed: Killed, tmp_path: Path) -> None:
    said = killed.restart(tmp_path / "copy", secret=OTHER_SECRET)
    assert "refusing to start: secret_check changed: " in said
    assert SECRET not in said
    assert OTHER_SECRET not in said


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (epsilon, "law changed: epsilon, alphabet, model or budget changed"),
        (version, "version changed (was 1, is 2)"),
        (name, "pipeline changed (was heart-zones, is other-zones)"),
    ],
    ids=["epsilon", "version", "name"],
)
def test_another_configuration_is_refused(
    change: Callable[[Document], None], says: str, killed: Killed, tmp_path: Path
) -> None:
    assert f"refusing to start: {says}" in killed.restart(tmp_path / "copy", change=change)


def test_another_model_is_refused(killed: Killed, tmp_path: Path) -> None:
    said = killed.restart(tmp_path / "copy", model=OTHER_MODEL)
    assert "refusing to start: law changed" in said


def test_an_alphabet_file_with_two_names_exchanged_is_refused(
    killed: Killed, tmp_path: Path
) -> None:
    first, second, *others = MODEL["alphabet"]
    exchanged = [second, first, *others]

    def from_a_file(document: Document) -> None:
        (tmp_path / "copy" / "zones.txt").write_text("\n".join(exchanged))
        document["operator"]["alphabet"] = {"file": "zones.txt"}

    said = killed.restart(
        tmp_path / "copy", change=from_a_file, model=MODEL | {"alphabet": exchanged}
    )
    assert "refusing to start: reading changed: " in said


def test_another_secret_behind_a_forged_fingerprint_is_a_mismatch(
    killed: Killed, tmp_path: Path
) -> None:
    said = killed.restart(tmp_path / "copy", secret=OTHER_SECRET, forge_fingerprint=True)
    assert "release_mismatch: " in said
    assert "is no release of this pipeline as it is now" in said


@pytest.mark.acceptance
def test_another_epsilon_behind_a_forged_fingerprint_is_a_mismatch(
    killed: Killed, tmp_path: Path
) -> None:
    said = killed.restart(tmp_path / "copy", change=epsilon, forge_fingerprint=True)
    assert "release_mismatch: " in said
    assert "offset 0 was published with other content than its replay has now" in said


@pytest.mark.acceptance
def test_another_model_behind_a_forged_fingerprint_is_a_mismatch(
    killed: Killed, tmp_path: Path
) -> None:
    said = killed.restart(tmp_path / "copy", model=OTHER_MODEL, forge_fingerprint=True)
    assert "release_mismatch: " in said


def test_nothing_of_this_keeps_the_right_pipeline_from_going_on(
    killed: Killed, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(killed.directory, copy)
    fugu("state", "claim", copy / "pipeline.yaml")
    with running(copy / "pipeline.yaml") as process:
        process.wait_until(lambda: sum(killed.ends()) >= RECORDS)
        assert process.stop() == 0, process.stderr
    assert sum(killed.ends()) == RECORDS

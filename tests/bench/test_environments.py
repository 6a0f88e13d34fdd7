"""An environment of a peer is made anew when what it is made of changes."""

from pathlib import Path

import pytest

from bench.comparison import environments


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the commands that would run; a peer in Java and the shared sources are in `tmp_path`."""
    for part in ("peer/requirements.txt", "peer/pom.xml", "peer/Peer.java", "java/Step.java"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).write_text("first")
    commands: list[str] = []

    def run(command: list[str], folder: Path = tmp_path) -> None:
        (tmp_path / "made" / "peer").mkdir(parents=True, exist_ok=True)
        commands.append(" ".join(command))

    monkeypatch.setattr(environments, "PEERS", tmp_path)
    monkeypatch.setattr(environments, "_ENVIRONMENTS", tmp_path / "made")
    monkeypatch.setattr(environments, "_run", run)
    return commands


@pytest.mark.parametrize(
    "part", ["peer/requirements.txt", "peer/pom.xml", "peer/Peer.java", "java/Step.java"]
)
def test_environment_is_made_anew_when_a_part_changes(
    tmp_path: Path, made: list[str], part: str
) -> None:
    environments.environment("peer", lambda said: None)
    once = len(made)
    environments.environment("peer", lambda said: None)
    assert len(made) == once > 0
    (tmp_path / part).write_text("second")
    environments.environment("peer", lambda said: None)
    assert len(made) == 2 * once


def test_versions_of_java_libraries_are_those_of_the_pom() -> None:
    assert environments.versions_of_maven("pyflink") == {"flink-sql-connector-kafka": "5.0.0-2.2"}
    assert "kafka-streams" in environments.versions_of_maven("kafka_streams")

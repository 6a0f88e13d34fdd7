"""`fugu top` shows what running pipelines say about themselves, and says who does not answer."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from fugu.dataflows.base.metrics import (
    BUILD,
    DEAD_LETTERS,
    EVENT_TIME,
    LAG,
    RECORDS_IN,
    RECORDS_OUT,
    RELEASE_SECONDS,
    SNAPSHOT_AGE,
    STREAMS,
    STREAMS_BY_BUDGET,
    Metrics,
)
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.monitoring.server import MetricsServer, Page, verdict
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        return int(server.getsockname()[1])


class Running:
    """Serve what a pipeline serves; each look finds 60 more records than the one before."""

    def __init__(self) -> None:
        self.metrics = Metrics(pipeline="heart-zones")
        put = self.metrics.put
        put(BUILD, 1, "1", "3.11", "librdkafka", "crr", "1")
        put(LAG, 1_234, "vitals.raw", 0)
        put(EVENT_TIME, 1_767_225_600, "vitals.sanitized", 0)
        put(SNAPSHOT_AGE, time.monotonic(), "vitals.raw", 0)
        put(STREAMS, 20_000, "vitals.raw", 0)
        put(STREAMS_BY_BUDGET, 120, "vitals.raw", 0, "exhausted")
        put(STREAMS_BY_BUDGET, 300, "vitals.raw", 0, "9")

    def page(self) -> Page:
        add = self.metrics.add
        add(RECORDS_IN, 60, "vitals.raw", 0)
        add(RECORDS_OUT, 54, "vitals.sanitized", 0)
        add(DEAD_LETTERS, 4, "vitals.raw", 0, "not_json")
        add(DEAD_LETTERS, 2, "vitals.raw", 0, "late")
        self.metrics.observe(RELEASE_SECONDS, 0.2, 54, "vitals.raw", 0)
        return Page(200, "text/plain", self.metrics.text())


@pytest.fixture
def files(tmp_path: Path) -> Iterator[list[str]]:
    """A pipeline that runs, one that does not, and one that serves nothing."""
    port = free_port()
    pages = {"/metrics": Running().page, "/healthz": lambda: verdict(None, ["many are refused"])}
    server = MetricsServer(HOST, port, pages)
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    paths = []
    for name, more in {
        "heart-zones": f"metrics: {{port: {port}, host: 0.0.0.0}}\n",
        "away": f"metrics: {{port: {free_port()}}}\n",
        "mute": "",
    }.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(PIPELINE.replace("name: heart-zones", f"name: {name}") + more)
        paths.append(str(path))
    yield paths
    server.close()


def shown(*arguments: str, width: int = 100) -> str:
    result = CliRunner().invoke(app, ["top", *arguments], env={"COLUMNS": str(width)})
    assert result.exit_code == 0, result.output
    return result.output


def test_rates_are_those_between_two_looks(files: list[str]) -> None:
    told: dict[str, Any] = orjson.loads(shown(*files, "--once", "--json", "--every", "0.5"))
    running, away, mute = told["pipelines"]
    assert running["status"] == "degraded"
    assert running["reasons"] == ["many are refused"]
    assert 60 < running["records_in"] <= 120, "60 records in half a second, or a little longer"
    assert running["releases"] == pytest.approx(running["records_in"] * 54 / 60)
    assert running["lag"] == 1_234
    assert running["dead_letters"] == {"not_json": 8, "late": 4}
    assert running["budgets"] == {"9": 300, "exhausted": 120}
    assert running["late_seconds"] == 0.25
    assert (away["status"], mute["status"]) == ("away", "unknown")
    assert mute["reasons"] == ["its file has no metrics: {port: 9464}"]


@pytest.mark.parametrize("width", [80, 140])
def test_all_is_readable_in_a_narrow_terminal(files: list[str], width: int) -> None:
    lines = shown(*files, "--once", "--every", "0.2", width=width).splitlines()
    assert max(map(len, lines)) <= width
    said = "\n".join(lines)
    for text in ("1,234", "2026-01-01 00:00:00", "120 spent", "300 nearly", "8 not_json"):
        assert text in said
    assert "heart-zones: many are refused" in said
    assert "does not answer" in said

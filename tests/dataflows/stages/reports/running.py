"""A pipeline of reports in ticks over one partition, whose stream time a heartbeat moves."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import yaml

from fugu.dataflows.pipeline.config import PipelineFile
from tests.dataflows.stages.running import SECTIONS, Message, Running

CLOCK = b"clock"
SECONDS: dict[str, Any] = {
    "width": "1s",
    "max_jump": 30,
    "stream_time": {"heartbeats": [CLOCK.decode()]},
}
ZONES = ["rest", "light", "vigorous"]
OPERATOR: dict[str, Any] = {
    "kind": "pba_ldp",
    "alphabet": ZONES,
    "epsilon": 8.0,
    "window": 3,
    "flags": True,
    "ticks": SECONDS,
}
SOURCE = SECTIONS["source"] | {"value": "zone"}


def message(user: str, at: int, zone: object = "rest") -> Message:
    """Say where a user is at a time in milliseconds."""
    return user.encode(), orjson.dumps({"zone": zone, "at": at})


def beat(second: int) -> Message:
    """Move stream time to the beginning of a second."""
    return CLOCK, orjson.dumps({"at": second * 1000})


def told(truth: Sequence[dict[str, object]], first: int = 0) -> list[Message]:
    """Return records of what users say second by second, and a heartbeat after each second."""
    messages = [beat(first)]
    for second, zones in enumerate(truth, start=first):
        messages += [message(user, second * 1000, zone) for user, zone in zones.items()]
        messages.append(beat(second + 1))
    return messages


def pipeline_file(directory: Path, ticks: dict[str, Any], entries: dict[str, Any]) -> PipelineFile:
    """Write a pipeline file with other entries in its operator section, or without those that are
    None, and in its ticks."""
    entries = OPERATOR | entries | {"ticks": SECONDS | ticks}
    operator = {name: entry for name, entry in entries.items() if entry is not None}
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(SECTIONS | {"source": SOURCE, "operator": operator}))
    return PipelineFile.read(path)


def running(directory: Path, ticks: dict[str, Any] | None = None, **entries: Any) -> Running:
    """Return a pipeline with other entries in its operator section."""
    return Running(pipeline_file(directory, ticks or {}, entries))


def reports_of(run: Running, user: str) -> list[dict[str, Any]]:
    """Return the releases of one stream, each with the second at which its tick ended."""
    return [
        orjson.loads(value) | {"second": timestamp // 1000}
        for key, value, _, timestamp in run.releases
        if key == user.encode()
    ]

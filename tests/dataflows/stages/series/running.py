"""A pipeline of series over one partition."""

from pathlib import Path
from typing import Any

import orjson
import yaml

from fugu.dataflows.pipeline.config import PipelineFile
from tests.dataflows.stages.running import SECTIONS, Message, Running

SECONDS: dict[str, Any] = {
    "width": "1s",
    "max_jump": 30,
    "idle": 20,
    "stream_time": {"distinct_keys": 1},
}
OPERATOR: dict[str, Any] = {
    "kind": "real_time_local",
    "lower": 40,
    "upper": 180,
    "epsilon": 8.0,
    "delta": 1e-6,
    "horizon": 100,
    "ticks": SECONDS,
}
PIPELINE = SECTIONS | {"operator": OPERATOR}


def message(user: str, at: int, value: object = 70) -> Message:
    """A reading of a user at a time in milliseconds."""
    return user.encode(), orjson.dumps({"bpm": value, "at": at})


def pipeline_file(directory: Path, sections: dict[str, Any] | None = None) -> PipelineFile:
    """A pipeline file with other sections."""
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(PIPELINE | (sections or {})))
    return PipelineFile.read(path)


def operator(ticks: dict[str, Any] | None = None, **entries: Any) -> dict[str, Any]:
    """An operator section with other entries, or without those that are None."""
    section = OPERATOR | entries | {"ticks": SECONDS | (ticks or {})}
    return {name: entry for name, entry in section.items() if entry is not None}


def running(directory: Path, ticks: dict[str, Any] | None = None, **entries: Any) -> Running:
    """A pipeline with other entries in its operator section."""
    return Running(pipeline_file(directory, {"operator": operator(ticks, **entries)}))


def said_by(run: Running, user: str) -> list[dict[str, Any]]:
    """Releases of one stream, each with the second that its tick ended at."""
    return [
        orjson.loads(value) | {"second": timestamp // 1000}
        for key, value, _, timestamp in run.releases
        if key == user.encode()
    ]

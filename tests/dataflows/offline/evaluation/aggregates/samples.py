"""Pipelines that count or sum, and samples for them."""

from pathlib import Path
from typing import Any

import orjson
import yaml

from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure

ZONES = ["north", "south", "west"]
OPERATOR: dict[str, Any] = {
    "kind": "uniform",
    "epsilon": 1.0,
    "window": 5,
    "groups": ZONES,
    "ticks": {"width": "1s", "grace": "500ms", "max_jump": 30, "stream_time": {"distinct_keys": 1}},
}
PIPELINE: dict[str, Any] = {
    "name": "city",
    "source": {
        "topic": "trips",
        "value": "zone",
        "timestamp": {"field": "at", "format": "epoch-ms"},
    },
    "operator": OPERATOR,
    "sink": {"topic": "city.counts"},
    "kafka": {"bootstrap": "localhost:9092"},
    "state": {"directory": "./state"},
    "secret": {"env": "FUGU_TEST_SECRET"},
}
START = 1_763_740_800_000
"""When ticks of samples begin; the first record comes half a second later."""
FIRST_TICK = START // 1_000
KILOWATTS = {"field": "kw", "lower": 0, "upper": 5, "unit": 0.1}

Line = dict[str, object]


def line(who: str, when: int, where: str = "north", amount: float = 1.0) -> Line:
    """`when` in milliseconds after the start."""
    return {"key": who, "at": START + when, "zone": where, "kw": amount}


def crowd(ticks: int, users: int = 30) -> list[Line]:
    """Users who stay where they are, and one record that closes the last tick."""
    lines = [
        line(f"u{user}", 1_000 * tick + 500 + user, ZONES[user % 3], user / 10)
        for tick in range(ticks)
        for user in range(users)
    ]
    return [*lines, line("u0", 1_000 * ticks + 600)]


def written(directory: Path, *, state: Line | None = None, **operator: Any) -> PipelineFile:
    """The pipeline file, with these changes to its operator (None: without it)."""
    section = {key: one for key, one in (OPERATOR | operator).items() if one is not None}
    sections = PIPELINE | {"operator": section}
    if state is not None:
        sections["state"] = PIPELINE["state"] | state
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(sections))
    return PipelineFile.read(path)


def sample_path(directory: Path, lines: list[Line]) -> Path:
    path = directory / "sample.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    return path


def sample_of(directory: Path, file: PipelineFile, lines: list[Line]) -> Sample:
    return Sample.read(sample_path(directory, lines), "key", configure(file).codec)


def operator_of(file: PipelineFile) -> AggregateOperator:
    operator = file.pipeline.operator
    assert isinstance(operator, AggregateOperator)
    return operator

"""Pipeline files of every kind, made from the example of its section."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fugu.dataflows.kinds import KINDS
from fugu.dataflows.pipeline.config import PipelineFile
from tests.dataflows.kinds.test_aggregate_section import PIPELINE

ROOT = Path(__file__).parents[3]
FILES = (
    "deploy/examples/heart-zones.model.json",
    "deploy/examples/presence.model.json",
    "examples/household/policies.yaml",
)


def example_of(
    kind: str, directory: Path, changes: Mapping[str, Any] | None = None, **sections: Any
) -> PipelineFile:
    """Write the example with `changes` of its operator and other sections, and read it."""
    for name in FILES:
        (directory / Path(name).name).write_bytes((ROOT / name).read_bytes())
    operator = {"kind": kind, **yaml.safe_load(KINDS[kind].example), **(changes or {})}
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(PIPELINE | {"operator": operator} | sections))
    return PipelineFile.read(path)

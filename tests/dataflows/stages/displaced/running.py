"""A temporal pipeline over one partition."""

from pathlib import Path
from typing import Any

import yaml

from fugu.dataflows.pipeline.config import PipelineFile
from tests.dataflows.stages.running import SECTIONS

OPERATOR: dict[str, Any] = {"kind": "threshold_perturbation", "window": 5, "threshold": 3}
PIPELINE = SECTIONS | {"operator": OPERATOR}


def pipeline_file(
    directory: Path, source: dict[str, Any], operator: dict[str, Any]
) -> PipelineFile:
    """A pipeline file with other entries, or without those that are None, in two sections."""
    section = {name: entry for name, entry in (OPERATOR | operator).items() if entry is not None}
    document = PIPELINE | {"source": PIPELINE["source"] | source, "operator": section}
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(document))
    return PipelineFile.read(path)
